// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Checks a layer's backward against its forward: for users' layers and for those of this library.

#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <triax/comm/self.hpp>
#include <triax/nn/layer_runner.hpp>

namespace triax {

struct GradientCheckOptions {
  double step = 1e-5;           ///< of the central differences
  double tolerance = 1e-6;      ///< the largest relative error that is accepted
  std::uint64_t seed = 1;       ///< of the data, the parameters and the layer's own random numbers
  std::int64_t vocabulary = 0;  ///< token numbers are drawn below it; 0: below the features of the stream
  bool values = false;          ///< the batch holds values of the stream's shape in place of token numbers
  bool training = true;         ///< what the layer sees as `ctx.training()`
};

/// What check_gradients found: the element whose gradient is worst.
struct GradientReport {
  double worst = 0;  ///< |analytic - numeric|, relative to the larger of them or 1e-3 of the largest gradient
  std::string tensor{};    ///< "the input", or the name of a parameter
  std::int64_t index = 0;  ///< of the element, in row-major order
  double analytic = 0;     ///< its gradient by the layer's backward
  double numeric = 0;      ///< its gradient by differences of the layer's forward
  std::string method{};    ///< "backward", or "backward_input and backward_weight"
  std::string broken{};    ///< a rule of layers that was broken, or empty
  double tolerance = 0;

  bool ok() const { return broken.empty() && worst <= tolerance; }
};

/// The report as one sentence.
inline std::string to_string(const GradientReport& report) {
  if (!report.broken.empty()) return report.broken;
  if (report.tensor.empty()) return "all gradients agree exactly";
  const auto text = [](double value) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.9g", value);
    return std::string(digits);
  };
  return "the largest relative error is " + text(report.worst) + ", at element " +
         std::to_string(report.index) + " of " + report.tensor + ": " + report.method + " gives " +
         text(report.analytic) + ", differences of forward give " + text(report.numeric);
}

namespace detail {

template <class L>
class GradientCheck {
  using Runner = LayerRunner<L, double, Host, SelfCommunicator>;
  using Context = typename Runner::Context;
  using Numbers = std::vector<double>;
  static constexpr bool makes_stream = InputLayer<L, Context>;
  static constexpr bool ends_stream = LossLayer<L, Context>;
  static constexpr bool splits = SplitLayer<L, Context>;

 public:
  GradientCheck(const L& layer, const Shape& shape, const GradientCheckOptions& options)
      : options_(options),
        shape_(shape),
        batch_(make_batch()),
        runner_(layer, host_, self_, batch_, measure(layer)) {
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
    report_.tolerance = options_.tolerance;
    runner_.overwrite_arenas();
    if constexpr (!ends_stream) output_gradient_ = random_numbers(forward().size());
    const std::vector<Numbers> numeric = by_differences();
    compare(by_backward(false), numeric, "backward");
    if constexpr (splits) compare(by_backward(true), numeric, "backward_input and backward_weight");
    return report_;
  }

 private:
  // Numbers in [-1, 1), others with every call.
  Numbers random_numbers(std::int64_t count) {
    Numbers numbers(static_cast<std::size_t>(count));
    ++drawn_;
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = static_cast<double>(philox(i, drawn_, options_.seed)[0]) * 0x1p-31 - 1;
    return numbers;
  }

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
    if (x_ != input_) report_.broken = "forward changed its argument, but a layer only reads its arguments";
    return out;
  }

  // The number whose gradients are compared: the loss, or a weighted sum of the output, and what the layer
  // added.
  double objective() {
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

  // The gradients of all parameters, then the input's; empty where there is none.
  std::vector<Numbers> by_differences() {
    std::vector<Numbers> all;
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      all.push_back(runner_.gradient(i) ? differences(parameters_[i]) : Numbers{});
    all.push_back(differences(input_));
    return all;
  }

  std::vector<Numbers> by_backward(bool halves) {
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      for (double& sum : runner_.gradient(i).span()) sum = 1;  // a layer adds to its gradients
    const auto out = forward();
    // A layer must not count on its output, nor on scratch, nor on the gradient that it returned.
    if constexpr (!ends_stream) std::memset(out.data(), 0xff, out.bytes());
    runner_.overwrite_scratch();
    dy_ = output_gradient_;
    const Tensor<double, Host> dy{dy_.data(), out.shape()};
    Numbers input_gradient;
    if constexpr (splits) {
      if (halves) {
        const auto dx = runner_.backward_input(dy);
        input_gradient.assign(dx.span().begin(), dx.span().end());
        std::memset(dx.data(), 0xff, dx.bytes());
        runner_.overwrite_scratch();
        runner_.backward_weight();
      }
    }
    if (!halves) {
      const auto dx = runner_.backward(dy);
      input_gradient.assign(dx.span().begin(), dx.span().end());
    }
    if (dy_ != output_gradient_ || x_ != input_)
      report_.broken = "backward changed an argument, but a layer only reads its arguments";

    std::vector<Numbers> all;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const auto gradient = runner_.gradient(i).span();
      all.emplace_back(gradient.begin(), gradient.end());
      for (double& value : all.back()) value -= 1;
    }
    all.push_back(input_gradient);
    return all;
  }

  void compare(const std::vector<Numbers>& analytic, const std::vector<Numbers>& numeric,
               const char* method) {
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
        report_.tensor = t < parameters_.size() ? runner_.declared()[t].name : "the input";
        report_.index = static_cast<std::int64_t>(i);
        report_.analytic = a;
        report_.numeric = n;
        report_.method = method;
      }
  }

  const GradientCheckOptions options_;
  const Shape shape_;
  std::uint64_t drawn_ = 0;
  std::vector<std::int32_t> tokens_{};
  std::vector<float> values_{};
  std::vector<float> weights_{};
  Batch<Host> batch_;
  Host host_{};
  SelfCommunicator self_{};
  Runner runner_;
  std::vector<Numbers> parameters_{};
  Numbers input_{};
  Numbers output_gradient_{};
  Numbers x_{};   // the argument of forward
  Numbers dy_{};  // the argument of backward
  GradientReport report_{};
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
