// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The life of MPI in a program.

#pragma once

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>

#include <mpi.h>

#include <triax/comm/concat.hpp>
#include <triax/comm/mpi/communicator.hpp>
#include <triax/comm/reason.hpp>

namespace triax::mpi {

/// Initialises MPI, unless it is initialised already, and finalises it in its destructor if it has
/// initialised it.
///
/// A rank that dies must not leave the others waiting. While an Environment lives, an exception that nobody
/// catches is printed with its rank and ends the job; so does one that passes through the destructor, whose
/// reason is only known to whoever catches it (`run` prints it). Runs without mpirun too, as one rank.
class Environment {
 public:
  /// Throws CommunicatorError if the MPI library, or who has initialised it, gives less than `thread_level`.
  /// By default only the thread that makes the Environment communicates.
  Environment(int& argc, char**& argv, int thread_level = MPI_THREAD_FUNNELED) {
    int provided = MPI_THREAD_SINGLE;
    if (is_initialized()) {
      check(MPI_Query_thread(&provided), "MPI_Query_thread");
    } else {
      check(MPI_Init_thread(&argc, &argv, thread_level, &provided), "MPI_Init_thread");
      owns_ = true;
    }
    if (provided < thread_level) {
      if (owns_) MPI_Finalize();
      throw CommunicatorError(detail::concat("MPI provides the thread level ", name_of(provided), ", but ",
                                             name_of(thread_level), " was requested"));
    }
    world_.emplace(MpiCommunicator::duplicate(MPI_COMM_WORLD));
    previous_ = std::set_terminate(&terminate);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  ~Environment() {
    std::set_terminate(previous_);
    if (std::uncaught_exceptions() > exceptions_at_start_)
      abort("an exception passes through mpi::Environment");
    world_.reset();
    if (owns_ && !is_finalized()) MPI_Finalize();
  }

  /// All ranks. Other messages, of MPI_COMM_WORLD too, do not interfere.
  MpiCommunicator world() const { return *world_; }

  /// Prints the rank and the reason, and ends the job with status 1.
  [[noreturn]] static void abort(const std::string& reason) noexcept {
    int rank = 0;
    if (is_initialized() && !is_finalized()) {
      MPI_Comm_rank(MPI_COMM_WORLD, &rank);
      std::fprintf(stderr, "rank %d: %s\n", rank, reason.c_str());
      std::fflush(nullptr);
      MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    std::abort();
  }

 private:
  static const char* name_of(int thread_level) {
    switch (thread_level) {
      case MPI_THREAD_SINGLE:
        return "MPI_THREAD_SINGLE";
      case MPI_THREAD_FUNNELED:
        return "MPI_THREAD_FUNNELED";
      case MPI_THREAD_SERIALIZED:
        return "MPI_THREAD_SERIALIZED";
      default:
        return "MPI_THREAD_MULTIPLE";
    }
  }

  [[noreturn]] static void terminate() {
    const std::exception_ptr error = std::current_exception();
    abort(error ? reason_of(error) : "std::terminate was called");
  }

  std::optional<MpiCommunicator> world_;
  bool owns_ = false;
  int exceptions_at_start_ = std::uncaught_exceptions();
  std::terminate_handler previous_ = nullptr;
};

/// Calls `f(MpiCommunicator world)` in an Environment, as `run_threads` does with threads. If `f` throws, the
/// rank and the reason are printed and the job ends.
template <class F>
void run(int& argc, char**& argv, F&& f) {
  Environment environment(argc, argv);
  try {
    f(environment.world());
  } catch (...) {
    Environment::abort(reason_of(std::current_exception()));
  }
}

}  // namespace triax::mpi
