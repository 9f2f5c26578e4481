// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// A layer, a model and its training by data and pipeline parallelism. Here ranks are threads; on a cluster
// they are processes, and only the call around the training changes:
//
//   mpi::run(argc, argv, [&](MpiCommunicator world) { ... });

#include <array>
#include <cstdint>
#include <cstdio>
#include <tuple>
#include <vector>

#include <triax/triax.hpp>

using namespace triax;

struct FeedForward {  // a layer of your own: shapes in, mathematics out; it owns no storage
  std::int64_t width, hidden;
  enum { up, down };

  template <class Ctx>
  struct Cache {  // what backward needs
    typename Ctx::tensor x, h, a;
  };

  std::array<Parameter, 2> parameters() const {  // global shapes, and how tensor parallelism cuts them
    return {Parameter{.name = "up", .shape = {width, hidden}, .split = Split::columns},
            Parameter{.name = "down", .shape = {hidden, width}, .split = Split::rows}};
  }
  template <class Ctx>
  typename Ctx::tensor forward(Ctx& ctx, typename Ctx::tensor x, Cache<Ctx>& cache) const {
    const Shape inner = x.shape().with_columns(hidden);
    cache = {.x = x, .h = ctx.save(inner), .a = ctx.save(inner)};
    gemm(ctx.device, x, ctx.parameter(up), cache.h);
    activation(ctx.device, GeluTanh{}, cache.h, cache.a);
    const auto y = ctx.output(x.shape());
    gemm(ctx.device, cache.a, ctx.parameter(down), y);
    return y;
  }
  template <class Ctx>
  typename Ctx::tensor backward(Ctx& ctx, typename Ctx::tensor dy, Cache<Ctx>& cache) const {
    const auto dh = ctx.scratch(cache.h.shape());
    gemm(ctx.device, dy, transposed(ctx.parameter(down)), dh);
    gemm(ctx.device, transposed(cache.a), dy, ctx.gradient(down), accumulate);
    activation_gradient(ctx.device, GeluTanh{}, cache.h, dh, dh);
    gemm(ctx.device, transposed(cache.x), dh, ctx.gradient(up), accumulate);
    const auto dx = ctx.output(dy.shape());
    gemm(ctx.device, dh, transposed(ctx.parameter(up)), dx);
    return dx;
  }
};

struct Net {  // a model: a list of layers, and a loss
  std::tuple<
      Embedding,
      Repeat<Block<Residual<Block<LayerNorm, CausalSelfAttention>>, Residual<Block<LayerNorm, FeedForward>>>>,
      LayerNorm, VocabularyHead>
      layers;
  CrossEntropy loss;
};

Net make_net(int vocabulary, int width, int context, int depth) {
  const LayerNorm norm{width};
  return {{Embedding{vocabulary, width, context, "token"},
           Repeat{block(Residual{block(norm, CausalSelfAttention{width, 2})},
                        Residual{block(norm, FeedForward{width, 4 * width})}),
                  depth},
           norm, VocabularyHead{vocabulary, width, "token"}},
          {}};
}

// How to train it: one policy for each question. Sharded<Stage::gradients> is what others call ZeRO-2.
using Hybrid = Strategy<DataParallel<>, Sharded<Stage::gradients>, PipelineStage<OneFOneB>, MicroBatches<4>>;

constexpr int letters = 16, word = 8, sequences = 32;

/// The sequences of one data-parallel rank: a random word, said twice. Only what can be known is a target:
/// the second word.
class Loader {
 public:
  explicit Loader(int rank) : seed_(100 + static_cast<std::uint64_t>(rank)) {}

  Batch<Host> next() {
    for (std::int32_t row = 0; row < sequences; ++row) {
      std::int32_t* const x = inputs_.data() + row * 2 * word;
      std::int32_t* const y = targets_.data() + row * 2 * word;
      for (int t = 0; t < word; ++t) {
        x[t] = x[t + word] = static_cast<std::int32_t>(random_below(letters, seed_, drawn_++));
        y[t + word - 1] = x[t];
      }
    }
    const Shape shape{sequences, 2 * word};
    return {Batch<Host>::Tokens{inputs_.data(), shape}, Batch<Host>::Tokens{targets_.data(), shape}};
  }

 private:
  std::uint64_t seed_, drawn_ = 0;
  std::vector<std::int32_t> inputs_ = std::vector<std::int32_t>(sequences * 2 * word);
  std::vector<std::int32_t> targets_ = std::vector<std::int32_t>(sequences * 2 * word, -1);  // -1: no target
};

int main() {
  bool learned = false;
  run_threads(4, [&](ThreadCommunicator world) {
    Mesh mesh(world, {.dp = 2, .pp = 2});
    Parallel<Net, Hybrid, decltype(mesh), AdamW> model(make_net(letters, 32, 2 * word, 2), Hybrid{}, mesh,
                                                       AdamW{.lr = 3e-3});
    Loader loader(mesh.coordinate(Axis::dp));
    for (int step = 0; step <= 150; ++step) {
      const StepResult result = model.step(loader.next());
      if (world.rank() != 0) continue;
      learned = result.loss() < 0.1;
      if (step % 25 == 0)
        std::printf("step %3d  loss %.4f  gradient norm %.3f\n", step, result.loss(), result.grad_norm());
    }
  });
  return learned ? 0 : 1;
}
