// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Ownership of an MPI communicator, and MPI's errors as exceptions.

#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include <mpi.h>

#include <triax/comm/concat.hpp>
#include <triax/core/error.hpp>

namespace triax::mpi {

/// Throws CommunicatorError if `code`, which `call` returned, is an error.
inline void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw CommunicatorError(
      detail::concat(call, " failed: ", std::string_view(text, static_cast<std::size_t>(length))));
}

/// Whether MPI has been initialised.
inline bool is_initialized() {
  int flag = 0;
  MPI_Initialized(&flag);
  return flag != 0;
}

/// Whether MPI has been finalised: nothing may be called any more.
inline bool is_finalized() {
  int flag = 0;
  MPI_Finalized(&flag);
  return flag != 0;
}

/// What a world and all groups that are split off it share.
struct Limits {
  std::chrono::milliseconds deadline = std::chrono::minutes(30);
  std::size_t message_bytes = std::size_t{1} << 30;  ///< in one call of MPI, whose counts are ints
  std::size_t piece_bytes = std::size_t{2} << 20;  ///< of a reduction's buffer at a time: bounds its staging
};

/// Owns an MPI communicator, whose errors it turns into return codes. Frees it, unless MPI has been finalised
/// before.
class Link {
 public:
  Link(MPI_Comm owned, std::shared_ptr<Limits> limits) : comm_(owned), limits_(std::move(limits)) {
    check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link() {
    if (!is_finalized()) MPI_Comm_free(&comm_);
  }

  MPI_Comm comm() const noexcept { return comm_; }
  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  Limits& limits() const noexcept { return *limits_; }
  const std::shared_ptr<Limits>& shared_limits() const noexcept { return limits_; }

  /// After an operation that did not complete, the ranks are out of step for good.
  bool failed() const noexcept { return failed_; }
  void fail() noexcept { failed_ = true; }

 private:
  MPI_Comm comm_;
  std::shared_ptr<Limits> limits_;
  int rank_ = 0;
  int size_ = 1;
  bool failed_ = false;
};

}  // namespace triax::mpi
