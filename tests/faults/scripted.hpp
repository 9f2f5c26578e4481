// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// A model whose gradients a test dictates: the loss of a token is a weighted sum of parameters, and the
// batch's input values are the weights. So a parameter's gradient is the mean of its inputs over all tokens
// of the mesh.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <triax/kernels/elementwise.hpp>
#include <triax/kernels/tokens.hpp>
#include <triax/nn/layer.hpp>
#include <triax/nn/repeat.hpp>
#include <triax/parallel/hooks.hpp>

namespace triax::test {

/// What a test tells the layers of one rank, and what they tell it.
struct Script {
  std::vector<std::string> unused{};  ///< parameters whose gradients this rank's layers do not ask for
  std::string failing{};              ///< the parameter whose layer throws in its forward
  bool poison_padding = false;        ///< backward writes NaN behind each parameter and gradient

  std::vector<std::int64_t> micro_batches{};         ///< the sequences of every stream that a Scale has seen
  std::map<std::string, std::vector<float>> seen{};  ///< parameters as the last forward saw them
  std::map<std::string, std::int64_t> updated_elements{};  ///< that this rank updated in the last step

  bool uses(const std::string& name) const {
    for (const std::string& other : unused)
      if (other == name) return false;
    return true;
  }
};

/// Exactly, from any compute type.
template <class T>
double real(T value) {
  return static_cast<double>(static_cast<float>(value));
}

/// Begins the stream: one feature a token, 0.
struct Source {
  template <class Ctx>
  struct Cache {};

  std::array<Parameter, 0> parameters() const { return {}; }
  template <class Ctx>
  typename Ctx::tensor forward(Ctx& ctx, Cache<Ctx>&) const {
    const auto y = ctx.output({ctx.batch().sequences(), ctx.batch().tokens(), 1});
    fill(ctx.device, y, typename Ctx::compute{});
    return y;
  }
  template <class Ctx>
  void backward(Ctx&, typename Ctx::tensor, Cache<Ctx>&) const {}
};

/// Adds to the stream the products of its parameters with the batch's input values. The first element of the
/// first parameter belongs to the column `first_column`.
struct Dots {
  static constexpr int count = 3;

  std::array<Parameter, count> declared{};
  std::int64_t first_column = 0;
  Script* script = nullptr;

  template <class Ctx>
  struct Cache {};

  std::array<Parameter, count> parameters() const { return declared; }

  template <class Ctx>
  typename Ctx::tensor forward(Ctx& ctx, typename Ctx::tensor x, Cache<Ctx>&) const {
    using T = typename Ctx::compute;
    const auto y = ctx.output(x.shape());
    const auto inputs = ctx.batch().input_values();
    const auto weights = all([&](int i) { return ctx.parameter(i); });
    const bool training = ctx.training();
    ctx.device.launch(
        [=, this] {
          note(weights);
          if (training) count_forwards(weights);
          for (std::int64_t row = 0; row < x.rows(); ++row) {
            double sum = real(x.data()[row]);
            std::int64_t column = row * inputs.columns() + first_column;
            for (const auto& w : weights)
              for (std::int64_t j = 0; j < w.size(); ++j)
                sum += real(w.data()[j]) * real(inputs.data()[column++]);
            y.data()[row] = static_cast<T>(static_cast<float>(sum));
          }
        },
        Cost{1, 0});
    return y;
  }

  template <class Ctx>
  typename Ctx::tensor backward(Ctx& ctx, typename Ctx::tensor dy, Cache<Ctx>&) const {
    const auto dx = ctx.output(dy.shape());
    const auto inputs = ctx.batch().input_values();
    const auto weights = all([&](int i) { return ctx.parameter(i); });
    const auto gradients = all([&](int i) {
      const bool used = !script || script->uses(declared[static_cast<std::size_t>(i)].name);
      return used ? ctx.gradient(i) : decltype(ctx.gradient(i)){};
    });
    ctx.device.launch(
        [=, this] {
          std::int64_t column = first_column;
          for (std::size_t i = 0; i < count; ++i) {
            add_products(dy, inputs, column, gradients[i]);
            column += weights[i].size();
            if (script && script->poison_padding) poison(weights[i], gradients[i]);
          }
        },
        Cost{1, 0});
    copy(ctx.device, dy, dx);
    return dx;
  }

 private:
  template <class F>
  static auto all(F f) {
    return std::array{f(0), f(1), f(2)};
  }
  template <class Stream, class Values, class Gradient>
  static void add_products(const Stream& dy, const Values& inputs, std::int64_t column,
                           const Gradient& gradient) {
    if (!gradient) return;
    for (std::int64_t row = 0; row < dy.rows(); ++row) {
      const auto slope = static_cast<float>(dy.data()[row]);
      if (slope == 0) continue;  // of a token that does not count
      for (std::int64_t j = 0; j < gradient.size(); ++j)
        gradient.data()[j] += slope * inputs.data()[row * inputs.columns() + column + j];
    }
  }
  /// The engine rounds sizes up: what lies behind a parameter is its chunk's padding.
  template <class Values, class Gradient>
  static void poison(const Values& values, const Gradient& gradient) {
    using T = typename Values::value_type;
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (std::int64_t i = values.size(); i % chunk_alignment != 0; ++i) {
      const_cast<T*>(values.data())[i] = static_cast<T>(nan);
      if (gradient) gradient.data()[i] = nan;
    }
  }
  /// A parameter of kind `state` counts the forwards of training.
  template <class Weights>
  void count_forwards(const Weights& weights) const {
    using T = typename Weights::value_type::value_type;
    for (std::size_t i = 0; i < count; ++i)
      for (std::int64_t j = 0; declared[i].kind == ParameterKind::state && j < weights[i].size(); ++j)
        const_cast<T*>(weights[i].data())[j] = static_cast<T>(static_cast<float>(weights[i].data()[j]) + 1);
  }
  template <class Weights>
  void note(const Weights& weights) const {
    if (!script) return;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string& name = declared[i].name;
      if (name == script->failing && !name.empty())
        throw std::runtime_error("the layer of " + name + " fails");
      std::vector<float>& seen = script->seen[name];
      seen.clear();
      for (std::int64_t j = 0; j < weights[i].size(); ++j)
        seen.push_back(static_cast<float>(weights[i].data()[j]));
    }
  }
};

/// Multiplies the stream by its parameter. Much dearer than the other layers, so that pipelines are cut
/// between Scales.
struct Scale {
  Script* script = nullptr;

  template <class Ctx>
  struct Cache {
    typename Ctx::tensor x;
  };

  std::array<Parameter, 1> parameters() const {
    return {Parameter{.name = "w", .shape = {1}, .init = Initialiser::ones()}};
  }
  template <class Ctx>
  typename Ctx::tensor forward(Ctx& ctx, typename Ctx::tensor x, Cache<Ctx>& cache) const {
    using T = typename Ctx::compute;
    cache.x = x;
    const auto y = ctx.output(x.shape());
    const auto w = ctx.parameter(0);
    ctx.device.launch(
        [=, this] {
          if (script) script->micro_batches.push_back(x.shape()[0]);
          for (std::int64_t i = 0; i < x.size(); ++i)
            y.data()[i] = static_cast<T>(static_cast<float>(x.data()[i]) * static_cast<float>(w.data()[0]));
        },
        Cost{1e6, 0});
    return y;
  }
  template <class Ctx>
  typename Ctx::tensor backward(Ctx& ctx, typename Ctx::tensor dy, Cache<Ctx>& cache) const {
    using T = typename Ctx::compute;
    const auto x = cache.x;
    const auto dx = ctx.output(x.shape());
    const auto w = ctx.parameter(0);
    const auto dw = ctx.gradient(0);
    ctx.device.launch(
        [=] {
          for (std::int64_t i = 0; i < x.size(); ++i) {
            const auto slope = static_cast<float>(dy.data()[i]);
            dw.data()[0] += slope * static_cast<float>(x.data()[i]);
            dx.data()[i] = static_cast<T>(slope * static_cast<float>(w.data()[0]));
          }
        },
        Cost{1e6, 0});
    return dx;
  }
};

/// The stream itself is the loss. A token whose target is -1 does not count.
struct StreamAsLoss {
  static constexpr std::int32_t ignore = -1;

  template <class Ctx>
  struct Cache {
    Shape shape;
  };

  template <class Ctx>
  typename Ctx::loss forward(Ctx& ctx, typename Ctx::tensor x, Cache<Ctx>& cache) const {
    cache.shape = x.shape();
    const auto loss = save<LossSum>(ctx, {1});
    const auto weight = weights(ctx);
    ctx.device.launch(
        [=] {
          LossSum total;
          for (std::int64_t row = 0; row < x.size(); ++row) {
            if (weight(row) == 0) continue;
            total.sum += real(weight(row)) * real(x.data()[row]);
            total.weight += real(weight(row));
          }
          *loss.data() = total;
        },
        Cost{});
    return loss;
  }
  template <class Ctx>
  typename Ctx::tensor backward(Ctx& ctx, Cache<Ctx>& cache) const {
    const auto gradient = ctx.output(cache.shape);
    const float* const seed = ctx.seed();
    const auto weight = weights(ctx);
    ctx.device.launch(
        [=] {
          for (std::int64_t row = 0; row < gradient.size(); ++row)
            gradient.data()[row] = static_cast<typename Ctx::compute>(*seed * weight(row));
        },
        Cost{});
    return gradient;
  }
  template <class Ctx>
  void count(Ctx& ctx, tensor_t<Ctx, double> sum) const {
    const auto& batch = ctx.batch();
    count_tokens(ctx.device, {batch.sequences(), batch.tokens()}, batch.weights(), batch.targets(), ignore,
                 sum);
  }

 private:
  template <class Ctx>
  static auto weights(const Ctx& ctx) {
    return [weights = ctx.batch().weights().data(), targets = ctx.batch().targets().data()](
               std::int64_t row) { return token_weight(weights, targets, ignore, row); };
  }
};

struct ScriptedNet {
  std::tuple<Source, Dots, Dots, Repeat<Scale>> layers{};
  StreamAsLoss loss{};
};

/// A hook that notes what this rank updates.
struct Recorder {
  using axis = triax::axis::hook;

  Script* script = nullptr;

  template <class Device>
  void before_update(const PlacedParameter& parameter, Tensor<float, Device> gradient) const {
    if (script) script->updated_elements[parameter.declared.name] = gradient.size();
  }
};

}  // namespace triax::test
