// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Trains a GPT on a text, byte by byte, on one rank or many:
//
//   train_gpt data.path=FILE [key=value ...]                          ranks are threads
//   mpirun -n 4 train_gpt comm=mpi mesh.dp=2 mesh.pp=2 data.path=FILE [key=value ...]
//   train_gpt --help                                                  all keys with their defaults
//
// Writes a line a step to out/metrics.jsonl, and out/summary.json at the end.

#include <cstdio>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <triax/comm/mpi.hpp>
#include <triax/comm/reason.hpp>
#include <triax/comm/threads.hpp>

#include "train_gpt/agree.hpp"
#include "train_gpt/options.hpp"
#include "train_gpt/refusal.hpp"
#include "train_gpt/text.hpp"
#include "train_gpt/train.hpp"

namespace {

using namespace train_gpt;

/// Calls f(T{}) for the type T in which layers compute.
template <class F>
auto with_precision(Precision precision, F f) {
  switch (precision) {
    case Precision::bf16:
      return f(triax::bf16{});
    case Precision::fp16:
      return f(triax::fp16{});
    default:
      return f(float{});
  }
}

void print_plan(const Options& options) {
  const GptPlan plan =
      with_precision(options.strategy.precision, [&]<class T>(T) { return make_plan<T>(options); });
  JsonObject object;
  plan.footprint.write_to(object);
  object.add("model_flops", plan.model_flops)
      .add("executed_flops", plan.executed_flops)
      .add("bubble", plan.bubble);
  std::printf("%s\n", object.lines().c_str());
}

int fail(int status, const char* reason) {
  std::fprintf(stderr, "train_gpt: %s\n", reason);
  return status;
}

int run_on_threads(const std::vector<std::string_view>& arguments) {
  try {
    Options options = read_options(arguments);
    settle(options, {});
    const Text text = read_text(options);
    if (options.plan) {
      print_plan(options);
      return 0;
    }
    triax::run_threads(options.mesh.dp * options.mesh.pp, [&](triax::ThreadCommunicator world) {
      with_precision(options.strategy.precision, [&]<class T>(T) { train<T>(world, options, text); });
    });
    return 0;
  } catch (const Refusal& refusal) {
    return fail(2, refusal.what());
  } catch (const std::bad_alloc&) {
    return fail(1, "there is not enough memory for this run; plan=true says what it needs");
  } catch (const std::exception& error) {
    return fail(1, error.what());
  }
}

int run_on_mpi(int argc, char** argv, const std::vector<std::string_view>& arguments) {
  triax::mpi::Environment environment(argc, argv);
  triax::MpiCommunicator world = environment.world();
  try {
    Options options = read_options(arguments);
    const bool needs_ranks = !options.plan || has(options.extents(), triax::automatic);
    settle(options, needs_ranks ? std::optional(world.size()) : std::nullopt);
    std::optional<Text> text;
    refuse_together(world, [&] { text.emplace(read_text(options)); });  // each on its own machine
    if (!options.plan)
      with_precision(options.strategy.precision, [&]<class T>(T) { train<T>(world, options, *text); });
    else if (world.rank() == 0)
      print_plan(options);
    return 0;
  } catch (const Refusal& refusal) {
    return world.rank() == 0 ? fail(2, refusal.what()) : 2;
  } catch (...) {
    triax::mpi::Environment::abort(triax::reason_of(std::current_exception()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  bool mpi = false;
  for (const std::string_view argument : arguments) {
    if (argument == "--help") {
      std::printf("train_gpt key=value ...\n\n%s", options_help().c_str());
      return 0;
    }
    if (argument.starts_with("comm=")) mpi = argument == "comm=mpi";
  }
  return mpi ? run_on_mpi(argc, argv, arguments) : run_on_threads(arguments);
}
