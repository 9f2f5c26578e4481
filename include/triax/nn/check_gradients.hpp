// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Checks a layer's backward against its forward: for users' layers and for those of this library.

#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <triax/comm/self.hpp>
#include <triax/nn/gradient_report.hpp>
#include <triax/nn/layer_runner.hpp>

namespace triax {

namespace detail {

// The part of a check that knows nothing of the layer: data, differences, comparison.
class GradientComparison {
 protected:
  using Numbers = std::vector<double>;

  GradientComparison(const Shape& shape, const GradientCheckOptions& options)
      : options_(options), shape_(shape), batch_(make_batch()) {
    report_.tolerance = options.tolerance;
  }
  ~GradientComparison() = default;

  // The number whose gradients are compared, at the present variables.
  virtual double objective() = 0;

  // Numbers in [-1, 1), others with every call.
  Numbers random_numbers(std::int64_t count) {
    Numbers numbers(static_cast<std::size_t>(count));
    ++drawn_;
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = static_cast<double>(philox(i, drawn_, options_.seed)[0]) * 0x1p-31 - 1;
    return numbers;
  }

  Numbers differences(Numbers& variables) {
    Numbers result;
    for (double& variable : variables) {
      const double centre = variable;
      variable = centre + options_.step;
      const double above = objective();
      variable = centre - options_.step;
      const double below = objective();
      variable = centre;
      result.push_back((above - below) / (2 * options_.step));
    }
    return result;
  }

  // Both hold the gradients of all parameters, which `declared` names, then the input's.
  void compare(const std::vector<Numbers>& analytic, const std::vector<Numbers>& numeric, const char* method,
               const std::vector<Parameter>& declared) {
    double largest = 0;
    for (const Numbers& tensor : numeric)
      for (const double gradient : tensor) largest = std::fmax(largest, std::abs(gradient));
    for (std::size_t t = 0; t < numeric.size(); ++t)
      for (std::size_t i = 0; i < numeric[t].size(); ++i) {
        const double a = analytic[t][i];
        const double n = numeric[t][i];
        const double scale = std::fmax(std::fmax(std::abs(a), std::abs(n)), 1e-3 * largest);
        const double error = a == n ? 0 : std::abs(a - n) / scale;
        if (error <= report_.worst) continue;
        report_.worst = std::isnan(error) ? HUGE_VAL : error;
        report_.tensor = t < declared.size() ? declared[t].name : "the input";
        report_.index = static_cast<std::int64_t>(i);
        report_.analytic = a;
        report_.numeric = n;
        report_.method = method;
      }
  }

  // The first rule that is broken is the one to mend.
  void broken(const char* rule) {
    if (report_.broken.empty()) report_.broken = rule;
  }

 private:
  Batch<Host> make_batch() {
    const Shape tokens{shape_[0], shape_[1]};
    for (const double number : random_numbers(tokens.size()))
      weights_.push_back(static_cast<float>(number + 1.5));
    for (std::size_t i = 4; i < weights_.size(); i += 5) weights_[i] = 0;  // some tokens do not count
    const Tensor<const float, Host> weights{weights_.data(), tokens};
    if (options_.values) {
      for (const double number : random_numbers(2 * shape_.size()))
        values_.push_back(static_cast<float>(number));
      const Tensor<const float, Host> inputs{values_.data(), shape_};
      const Tensor<const float, Host> targets{values_.data() + shape_.size(), shape_};
      return {inputs, targets, weights, 0};
    }
    const auto vocabulary =
        static_cast<std::uint64_t>(options_.vocabulary > 0 ? options_.vocabulary : shape_.columns());
    for (std::uint64_t i = 0; i < 2 * weights_.size(); ++i)
      tokens_.push_back(static_cast<std::int32_t>(random_below(vocabulary, options_.seed, i)));
    const Tensor<const std::int32_t, Host> inputs{tokens_.data(), tokens};
    const Tensor<const std::int32_t, Host> targets{tokens_.data() + tokens.size(), tokens};
    return {inputs, targets, weights, 0};
  }

  std::uint64_t drawn_ = 0;
  std::vector<std::int32_t> tokens_{};
  std::vector<float> values_{};
  std::vector<float> weights_{};

 protected:
  const GradientCheckOptions options_;
  const Shape shape_;
  const Batch<Host> batch_;
  GradientReport report_{};
};

// The part that runs the layer.
template <class L>
class GradientCheck final : private GradientComparison {
  using Runner = LayerRunner<L, double, Host, SelfCommunicator>;
  using Context = typename Runner::Context;
  static constexpr bool makes_stream = InputLayer<L, Context>;
  static constexpr bool ends_stream = LossLayer<L, Context>;
  static constexpr bool splits = SplitLayer<L, Context>;

 public:
  GradientCheck(const L& layer, const Shape& shape, const GradientCheckOptions& options)
      : GradientComparison(shape, options), runner_(layer, host_, self_, batch_, measure(layer)) {
    runner_.frame().training = options.training;
    runner_.frame().seed = options.seed;
    runner_.state().seed = 0.75F;
    for (const Parameter& parameter : runner_.declared()) {
      parameters_.push_back(random_numbers(parameter.shape.size()));
      for (double& value : parameters_.back()) value += static_cast<double>(parameter.init.location);
    }
    if (!makes_stream) input_ = random_numbers(shape.size());
  }

  GradientReport run() {
    runner_.overwrite_arenas();
    if constexpr (!ends_stream) output_gradient_ = random_numbers(forward().size());
    std::vector<Numbers> numeric;
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      numeric.push_back(runner_.gradient(i) ? differences(parameters_[i]) : Numbers{});
    numeric.push_back(differences(input_));
    compare(by_backward(false), numeric, "backward", runner_.declared());
    if constexpr (splits)
      compare(by_backward(true), numeric, "backward_input and backward_weight", runner_.declared());
    return report_;
  }

 private:
  // How much memory the layer needs, by running it on a Meter.
  ArenaBytes measure(const L& layer) const {
    constexpr std::size_t plenty = std::size_t{1} << 48;
    Meter<Host> meter;
    MeterCommunicator communicator;
    const Batch<Meter<Host>> batch = metered(batch_);
    LayerRunner<L, double, Meter<Host>, MeterCommunicator> runner(layer, meter, communicator, batch,
                                                                  {plenty, plenty, plenty});
    runner.frame().training = options_.training;
    const auto stream = [&](const Shape& shape) {
      return Tensor<double, Meter<Host>>(reinterpret_cast<double*>(meter.allocate(0)), shape);
    };
    const auto gradient = stream(runner.forward(stream(shape_)).shape());
    runner.backward(gradient);
    if constexpr (splits) {
      runner.forward(stream(shape_));
      runner.backward_input(gradient);
      runner.backward_weight();
    }
    return runner.peak();
  }

  // From the same parameters and states with every call.
  auto forward() {
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      if (!parameters_[i].empty())
        std::memcpy(runner_.parameter(i).data(), parameters_[i].data(), runner_.parameter(i).bytes());
    x_ = input_;
    const auto out = runner_.forward({x_.data(), shape_});
    runner_.overwrite_scratch();
    if (x_ != input_) broken("forward changed its argument, but a layer only reads its arguments");
    return out;
  }

  // The loss, or a weighted sum of the output; and what the layer added.
  double objective() override {
    const auto out = forward();
    const auto seed = static_cast<double>(runner_.state().seed);
    double sum = 0;
    if constexpr (ends_stream) {
      sum = seed * out[0].sum;
    } else {
      for (std::size_t i = 0; i < output_gradient_.size(); ++i) sum += output_gradient_[i] * out.span()[i];
    }
    for (const auto& added : runner_.added_losses())
      sum += seed * static_cast<double>(added.factor) * added.loss[0].sum;
    return sum;
  }

  std::vector<Numbers> by_backward(bool halves) {
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      for (double& sum : runner_.gradient(i).span()) sum = 1;  // a layer adds to its gradients
    const auto out = forward();
    // A layer must count neither on its output nor on the gradient that it returned.
    if constexpr (!ends_stream) std::memset(out.data(), 0xff, out.bytes());
    dy_ = output_gradient_;
    const Tensor<double, Host> dy{dy_.data(), out.shape()};
    Numbers input_gradient;
    if constexpr (splits) {
      if (halves) {
        const auto dx = runner_.backward_input(dy);
        runner_.overwrite_scratch();
        input_gradient.assign(dx.span().begin(), dx.span().end());
        std::memset(dx.data(), 0xff, dx.bytes());
        runner_.backward_weight();
      }
    }
    if (!halves) {
      const auto dx = runner_.backward(dy);
      runner_.overwrite_scratch();
      input_gradient.assign(dx.span().begin(), dx.span().end());
    }
    if (dy_ != output_gradient_ || x_ != input_)
      broken("backward changed an argument, but a layer only reads its arguments");

    std::vector<Numbers> all;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const auto gradient = runner_.gradient(i).span();
      all.emplace_back(gradient.begin(), gradient.end());
      for (double& value : all.back()) value -= 1;
    }
    all.push_back(input_gradient);
    return all;
  }

  Host host_{};
  SelfCommunicator self_{};
  Runner runner_;
  std::vector<Numbers> parameters_{};
  Numbers input_{};
  Numbers output_gradient_{};
  Numbers x_{};   // the argument of forward
  Numbers dy_{};  // the argument of backward
};

}  // namespace detail

/// Compares the gradients that a Layer, InputLayer or LossLayer computes with central differences of its
/// forward, in double on one rank: of every element of every parameter and of the stream that comes in, and
/// for a SplitLayer in halves too. It also finds a layer that changes its arguments, overwrites its gradients
/// instead of adding to them, or reads its output, scratch or memory that it has not written.
///
/// `shape` is {sequences, tokens, features} of the stream that comes in; an InputLayer's batch has as many
/// sequences and tokens. All data is random and the same in every run. A forward runs twice per element, so
/// sizes should be small. Where forward is not smooth (Relu at 0), an unlucky number can fail the check;
/// another seed shows it.
///
/// Throws only what the layer throws; disagreement is in the report:
///
///     const auto report = check_gradients(FeedForward{8, 32}, {2, 3, 8});
///     if (!report.ok()) std::puts(to_string(report).c_str());
template <class L>
GradientReport check_gradients(const L& layer, const Shape& shape, const GradientCheckOptions& options = {}) {
  if (shape.rank() != 3)
    throw ShapeError(
        "check_gradients needs the stream's shape {sequences, tokens, features}, but was given " +
        to_string(shape));
  return detail::GradientCheck<L>(layer, shape, options).run();
}

}  // namespace triax
