// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

#include "support/models/probe.hpp"

#include <cstddef>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <triax/device/gemm.hpp>
#include <triax/nn/frozen.hpp>
#include <triax/nn/input_values.hpp>
#include <triax/nn/layer.hpp>
#include <triax/nn/mean_squared_error.hpp>

#include "support/models/model_rank_of.hpp"
#include "support/numbers.hpp"

namespace triax::test {

namespace {

struct SumSquares {
  const float* x;
  std::int64_t size;
  LossSum* loss;

  void operator()() const {
    loss->sum = 0;
    for (std::int64_t i = 0; i < size; ++i)
      loss->sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  }
};

/// gradient += 2 * factor * seed * x
struct AddSquaresGradient {
  const float* x;
  std::int64_t size;
  const float* seed;
  float factor;
  float* gradient;

  void operator()() const {
    for (std::int64_t i = 0; i < size; ++i) gradient[i] += 2 * factor * *seed * x[i];
  }
};

struct Probe {
  std::int64_t width = 0;
  ProbeSpec spec{};

  enum { first, second };

  template <class Ctx>
  struct Cache {
    typename Ctx::tensor x, y;
  };

  std::array<Parameter, 2> parameters() const {
    const auto matrix = [&](const char* name, const std::string& tie) {
      return Parameter{.name = name,
                       .shape = {width, width},
                       .init = Initialiser::normal(0, 0.1F),
                       .tie = tie,
                       .frozen = spec.frozen};
    };
    return {matrix("first", spec.ties[0]), matrix("second", spec.ties[1])};
  }

  template <class Ctx>
  typename Ctx::tensor forward(Ctx& ctx, typename Ctx::tensor x, Cache<Ctx>& cache) const {
    if constexpr (std::is_same_v<typename Ctx::device_type, Host>) {
      if (spec.misdeed == Misdeed::throws_in_forward) throw std::runtime_error("a probe fails in forward");
      if (spec.misdeed == Misdeed::saves_more) ctx.save({1});
      if (spec.misdeed == Misdeed::takes_more) {
        Scope scope(ctx.scratch_arena());
        ctx.scratch({1});
      }
    }
    cache.x = x;
    const auto y = ctx.output(x.shape());
    // Scratch up to a peak, taken and returned: what a misdeed takes before it stays below.
    {
      Scope scope(ctx.scratch_arena());
      const auto product = ctx.scratch(x.shape());
      ctx.scratch(x.shape());
      gemm(ctx.device, x, ctx.parameter(second), product);
      copy(ctx.device, product, y);
    }
    gemm(ctx.device, x, ctx.parameter(first), y, accumulate);
    add(ctx.device, x, y);
    if (spec.penalty != 0) {
      cache.y = ctx.save(y.shape());  // the caller may overwrite y
      copy(ctx.device, y, cache.y);
      const auto loss = save<LossSum>(ctx, {1});
      ctx.device.launch(SumSquares{cache.y.data(), y.size(), loss.data()}, Cost{});
      ctx.add_loss("penalty", loss, spec.penalty);
    }
    return y;
  }

  template <class Ctx>
  typename Ctx::tensor backward(Ctx& ctx, typename Ctx::tensor dy, Cache<Ctx>& cache) const {
    if constexpr (std::is_same_v<typename Ctx::device_type, Host>) {
      if (spec.misdeed == Misdeed::throws_in_backward) throw std::runtime_error("a probe fails in backward");
    }
    const auto d = ctx.scratch(dy.shape());
    copy(ctx.device, dy, d);
    if (spec.penalty != 0)
      ctx.device.launch(AddSquaresGradient{cache.y.data(), d.size(), ctx.seed(), spec.penalty, d.data()},
                        Cost{});
    const auto dx = ctx.output(dy.shape());
    gemm(ctx.device, d, transposed(ctx.parameter(first)), dx);
    gemm(ctx.device, d, transposed(ctx.parameter(second)), dx, accumulate);
    add(ctx.device, d, dx);
    gemm(ctx.device, transposed(cache.x), d, ctx.gradient(first), accumulate);
    if (!std::is_same_v<typename Ctx::device_type, Host> || spec.misdeed != Misdeed::no_gradient)
      gemm(ctx.device, transposed(cache.x), d, ctx.gradient(second), accumulate);
    return dx;
  }
};

struct ProbeNet {
  std::tuple<InputValues, Probe, Probe, Frozen<Probe>, Probe, Probe> layers;
  MeanSquaredError loss;
};

/// Forwards to an object that the test owns; without one, does nothing.
struct ProbeHook {
  using axis = triax::axis::hook;

  HookTarget* target = nullptr;

  void before_unit(int unit, Phase phase) const {
    if (target) target->before_unit(unit, phase);
  }
  void after_unit(int unit, Phase phase) const {
    if (target) target->after_unit(unit, phase);
  }
  void gradient_ready(const PlacedParameter& parameter) const {
    if (target) target->gradient_ready(parameter);
  }
  void before_update(const PlacedParameter& parameter, Tensor<float, Host> gradient) const {
    if (target) target->before_update(parameter, gradient);
  }
};

}  // namespace

std::unique_ptr<ModelRank> make_probe(ThreadWorldRank world, const ProbeOptions& options) {
  const auto unit = [&](std::size_t i) { return Probe{options.width, options.units[i]}; };
  const ProbeNet net{{InputValues{options.width}, unit(1), unit(2), Frozen<Probe>{unit(3)}, unit(4), unit(5)},
                     {}};
  using S = RunTimeStrategy<FullPrecision, ProbeHook>;
  return std::make_unique<ModelRankOf<ProbeNet, S, ThreadWorldRank>>(
      std::move(world), options.mesh, net,
      strategy_of<FullPrecision>(options.policies, ProbeHook{options.hook}), options.optimizer, options.seed);
}

ValueBatch::ValueBatch(int step, std::int64_t sequences, std::int64_t tokens, std::int64_t width)
    : shape_{sequences, tokens, width} {
  const auto values = [&](std::uint64_t seed) {
    std::vector<float> result;
    for (const double value : random_values(shape_.size(), seed)) result.push_back(static_cast<float>(value));
    return result;
  };
  inputs_ = values(static_cast<std::uint64_t>(2 * step));
  targets_ = values(static_cast<std::uint64_t>(2 * step + 1));
}

Batch<Host> ValueBatch::part(int rank, int ranks) const {
  const std::int64_t count = shape_[0] / ranks;
  const Tensor<const float, Host> inputs(inputs_.data(), shape_);
  const Tensor<const float, Host> targets(targets_.data(), shape_);
  return Batch<Host>(inputs, targets).slice(rank * count, count);
}

}  // namespace triax::test
