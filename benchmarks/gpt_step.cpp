// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The time of a training step of GPT-2's shape, on one or more threads, with the share of matrix products.
//
//   gpt_step [key=value ...]      gpt_step --help says the keys
//
// Prints a JSON object. compare_torch.py runs it beside PyTorch, from the same weights and on the same
// batches.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <exception>
#include <fstream>
#include <iostream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <triax/triax.hpp>

#include "../examples/train_gpt/json.hpp"
#include "../examples/train_gpt/keys.hpp"
#include "../examples/train_gpt/model.hpp"

namespace {

using namespace triax;
using train_gpt::JsonObject;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The seconds that the processor has spent in this thread: what else the machine does counts little.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// ---- What is timed inside a step, on rank 0 ----

/// The seconds that this thread has spent in matrix products, attention's among them.
thread_local double gemm_seconds = 0;

/// Puts a clock around the matrix products of this program.
void time_gemm() {
  static const GemmFunction<float> untimed = gemm_table.single_precision;  // a lambda sees it without capture
  gemm_table.single_precision = [](Matrix<const float> a, Matrix<const float> b, Matrix<float> c,
                                   bool accumulate) {
    const Clock::time_point start = Clock::now();
    untimed(a, b, c, accumulate);
    gemm_seconds += seconds_since(start);
  };
}

/// A hook that adds up the seconds of units, forward and backward apart.
struct UnitClock {
  using axis = triax::axis::hook;

  struct Seconds {
    double forward = 0, backward = 0;
  };
  Seconds* seconds = nullptr;
  Clock::time_point start{};

  void before_unit(int, Phase) { start = Clock::now(); }
  void after_unit(int, Phase phase) {
    (phase == Phase::forward ? seconds->forward : seconds->backward) += seconds_since(start);
  }
};

struct StepTimes {
  std::vector<double> step, gemm, forward, backward;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// ---- The program ----

struct Options {
  train_gpt::ModelOptions model{.layers = 6, .heads = 6, .width = 384, .context = 256};
  int ranks = 1;
  int batch = 4;
  int steps = 10;
  Stage stage = Stage::none;
  std::string folder{};
  bool driven = false;
};

train_gpt::Keys keys_of(Options& o) {
  constexpr int most = 1 << 20;
  train_gpt::Keys keys;
  keys.whole("ranks", o.ranks, 1, most, "data-parallel ranks, as threads");
  keys.whole("layers", o.model.layers, 1, most, "transformer blocks");
  keys.whole("heads", o.model.heads, 1, most, "attention heads");
  keys.whole("width", o.model.width, 1, most, "features of a token");
  keys.whole("context", o.model.context, 1, most, "tokens of a sequence");
  keys.whole("batch", o.batch, 1, most, "sequences a rank");
  keys.whole("steps", o.steps, 1, most, "timed steps, after one that is not");
  keys.choice("stage", o.stage,
              {{"none", Stage::none},
               {"optimizer", Stage::optimizer},
               {"gradients", Stage::gradients},
               {"parameters", Stage::parameters}},
              "what is sharded over the ranks");
  keys.text("folder", o.folder, "of weights and batches that torch_gpt.py has exported");
  keys.choice("driven", o.driven, {{"false", false}, {"true", true}},
              "wait for a line on standard input before each step, and print its loss and seconds");
  return keys;
}

template <class T>
std::vector<T> read_numbers(const std::string& path, std::size_t count) {
  std::vector<T> numbers(count);
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(numbers.data()), static_cast<std::streamsize>(count * sizeof(T)));
  if (!file || file.peek() != std::ifstream::traits_type::eof())
    throw Error(path + " does not hold exactly " + std::to_string(count) + " numbers");
  return numbers;
}
std::vector<std::int32_t> random_tokens(std::size_t count, std::uint64_t seed) {
  std::vector<std::int32_t> tokens(count);
  for (std::size_t i = 0; i < count; ++i) tokens[i] = static_cast<std::int32_t>(random_below(256, seed, i));
  return tokens;
}

/// The parameters of the model, a tied one once.
double count_parameters(const train_gpt::Gpt& net) {
  double count = 0;
  std::set<std::string> seen;
  for (const PlacedParameter& parameter : declare_parameters(net, Extents{}).parameters)
    if (seen.insert(parameter.random_name()).second)
      count += static_cast<double>(parameter.declared.shape.size());
  return count;
}

void run(ThreadCommunicator world, const Options& o) {
  const bool first = world.rank() == 0;
  const train_gpt::Gpt net = train_gpt::make_gpt(o.model);
  Mesh mesh(world, {.dp = o.ranks});
  UnitClock::Seconds seconds;
  const Strategy strategy(DataParallel<>{}, Sharded<>{.stage = o.stage}, UnitClock{&seconds});
  Parallel model(net, strategy, mesh, AdamW{.lr = 1e-4, .beta2 = 0.95, .weight_decay = 0.1});
  model.reserve({.sequences = o.batch, .tokens = o.model.context});

  const auto tokens = static_cast<std::size_t>(o.batch * o.model.context);
  std::vector<std::int32_t> inputs = random_tokens(tokens, static_cast<std::uint64_t>(2 * world.rank()));
  std::vector<std::int32_t> targets = random_tokens(tokens, static_cast<std::uint64_t>(2 * world.rank() + 1));
  if (!o.folder.empty()) {
    for (const std::string& path : model.parameter_paths())
      model.set_parameter(path, read_numbers<float>(o.folder + "/" + path, model.parameter(path).size()));
    inputs = read_numbers<std::int32_t>(o.folder + "/inputs." + std::to_string(world.rank()), tokens);
    targets = read_numbers<std::int32_t>(o.folder + "/targets." + std::to_string(world.rank()), tokens);
  }
  const Shape shape{o.batch, o.model.context};
  const Batch<Host> batch({inputs.data(), shape}, {targets.data(), shape});

  StepTimes times;
  double loss = 0;
  for (int step = 0; step <= o.steps; ++step) {
    std::string line;
    if (o.driven && first) std::getline(std::cin, line);
    world.barrier().wait();
    seconds = {};
    gemm_seconds = 0;
    const double processor_start = processor_seconds();
    const Clock::time_point start = Clock::now();
    loss = model.step(batch).loss();
    const double step_seconds = seconds_since(start);
    if (o.driven && first)
      std::cout << JsonObject()
                       .add("loss", loss)
                       .add("seconds", step_seconds)
                       .add("processor_seconds", processor_seconds() - processor_start)
                       .line()
                << std::endl;
    if (step == 0) continue;
    times.step.push_back(step_seconds);
    times.gemm.push_back(gemm_seconds / step_seconds);
    times.forward.push_back(seconds.forward / step_seconds);
    times.backward.push_back(seconds.backward / step_seconds);
  }
  if (!first) return;
  const double parameters = count_parameters(net);
  const double tokens_per_second = static_cast<double>(tokens) * o.ranks / median(times.step);
  std::cout << JsonObject()
                   .add("gemm", std::string(gemm_name()))
                   .add("ranks", o.ranks)
                   .add("parameters", static_cast<std::int64_t>(parameters))
                   .add("seconds_per_step", median(times.step))
                   .add("tokens_per_second", tokens_per_second)
                   .add("gflops", 6e-9 * parameters * tokens_per_second)
                   .add("gemm_share", median(times.gemm))
                   .add("forward_share", median(times.forward))
                   .add("backward_share", median(times.backward))
                   .add("loss", loss)
                   .line()
            << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  try {
    Options options;
    train_gpt::Keys keys = keys_of(options);
    if (arguments == std::vector<std::string_view>{"--help"}) {
      std::cout << keys.help();
      return 0;
    }
    keys.read(arguments);
    time_gemm();
    run_threads(options.ranks, [&](ThreadCommunicator world) { run(world, options); });
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "gpt_step: " << error.what() << std::endl;
    return 1;
  }
}
