// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// A layer of your own with a kernel of its own: written, checked, and trained on four ranks. docs/tutorial
// explains it.

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <tuple>
#include <vector>

#include <triax/triax.hpp>

using namespace triax;

/// A kernel is a functor of pointers and sizes: y = value where x is positive, else 0.
template <class T>
struct WherePositive {
  const T* x;
  const T* value;
  T* y;
  std::int64_t size;

  void operator()() const {
    for (std::int64_t i = 0; i < size; ++i) y[i] = x[i] > T{} ? value[i] : T{};
  }
};
/// A free function on tensors launches it and says what it costs: dx = dy where x is positive, else 0.
template <class Device, class T>
void relu_gradient(Device& device, Tensor<T, Device> x, Tensor<T, Device> dy, Tensor<T, Device> dx) {
  const auto n = static_cast<double>(x.size());
  device.launch(WherePositive<T>{x.data(), dy.data(), dx.data(), x.size()},
                Cost{.flops = n, .bytes = 3 * n * sizeof(T)});
}
/// y = max(x, 0)
template <class Device, class T>
void relu(Device& device, Tensor<T, Device> x, Tensor<T, Device> y) {
  relu_gradient(device, x, x, y);
}

/// The layer, shapes in and mathematics out: y = relu(x up) down
struct FeedForward {
  std::int64_t width, hidden;
  enum { up, down };

  template <class Ctx>
  struct Cache {
    typename Ctx::tensor x, h;
  };

  std::array<Parameter, 2> parameters() const {
    return {Parameter{.name = "up", .shape = {width, hidden}, .init = Initialiser::normal(0, 0.4F)},
            Parameter{.name = "down", .shape = {hidden, width}, .init = Initialiser::normal(0, 0.2F)}};
  }

  template <class Ctx>
  typename Ctx::tensor forward(Ctx& ctx, typename Ctx::tensor x, Cache<Ctx>& cache) const {
    cache.x = x;                                         // an argument may be kept
    cache.h = ctx.save(x.shape().with_columns(hidden));  // lives until backward has run
    gemm(ctx.device, x, ctx.parameter(up), cache.h);
    const auto a = ctx.scratch(cache.h.shape());  // dies with this call
    relu(ctx.device, cache.h, a);
    const auto y = ctx.output(x.shape());  // the stream that is returned
    gemm(ctx.device, a, ctx.parameter(down), y);
    return y;
  }

  template <class Ctx>
  typename Ctx::tensor backward(Ctx& ctx, typename Ctx::tensor dy, Cache<Ctx>& cache) const {
    const auto a = ctx.scratch(cache.h.shape());
    relu(ctx.device, cache.h, a);  // cheaper than saving it
    gemm(ctx.device, transposed(a), dy, ctx.gradient(down), accumulate);
    const auto dh = ctx.scratch(cache.h.shape());
    gemm(ctx.device, dy, transposed(ctx.parameter(down)), dh);
    relu_gradient(ctx.device, cache.h, dh, dh);
    gemm(ctx.device, transposed(cache.x), dh, ctx.gradient(up), accumulate);
    const auto dx = ctx.output(dy.shape());
    gemm(ctx.device, dh, transposed(ctx.parameter(up)), dx);
    return dx;
  }
};
static_assert(Layer<FeedForward>);

struct Net {
  std::tuple<InputValues, Repeat<Residual<FeedForward>>, Linear> layers;
  MeanSquaredError loss;
};

int main() {
  const GradientReport report = check_gradients(FeedForward{8, 16}, {2, 3, 8});
  std::printf("check_gradients: %s\n", to_string(report).c_str());
  if (!report.ok()) return 1;

  constexpr std::int64_t width = 4, samples = 64;
  bool learned = false;
  run_threads(4, [&](ThreadCommunicator world) {
    Mesh mesh(world, {.dp = 2, .pp = 2});
    using Policies =
        Strategy<DataParallel<>, Sharded<Stage::optimizer>, PipelineStage<OneFOneB>, MicroBatches<2>>;
    Net net{{InputValues{width}, Repeat{Residual{FeedForward{width, 32}}, 2}, Linear{width, 1}}, {}};
    Parallel model(net, Policies{}, mesh, AdamW{.lr = 0.01, .weight_decay = 0});

    std::vector<float> inputs(samples * width), targets(samples);
    const Batch<Host> batch({inputs.data(), {samples, 1, width}}, {targets.data(), {samples, 1, 1}});
    const auto seed = static_cast<std::uint64_t>(mesh.coordinate(Axis::dp));  // each has its own samples
    std::uint64_t drawn = 0;
    for (int step = 0; step <= 300; ++step) {
      for (float& x : inputs) x = 2 * to_unit(philox(drawn++, 0, seed)[0]) - 1;
      for (std::size_t i = 0; i < targets.size(); ++i)  // what is to be learned: a distance
        targets[i] = std::hypot(inputs[width * i], inputs[width * i + 1]);
      const StepResult result = model.step(batch);
      if (world.rank() != 0) continue;
      learned = result.loss() < 0.01;
      if (step % 50 == 0) std::printf("step %3d: mean squared error %.5f\n", step, result.loss());
    }
  });
  return learned ? 0 : 1;
}
