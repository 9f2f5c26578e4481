// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// check_gradients on layers that are right, and on layers that are wrong in one place each.

#include <array>
#include <cstdint>
#include <limits>
#include <string>

#include <doctest/doctest.h>

#include <triax/nn/check_gradients.hpp>

namespace triax {
namespace {

/// What a Square does wrong.
enum class Fault {
  none,
  factor,
  overwrites_gradient,
  keeps_output,
  keeps_scratch,
  returns_scratch,
  changes_input,
  changes_output_gradient,
  forgets_weight_half,
  reads_returned_gradient,
  reads_fresh_memory,
};

/// y = x^2 + weight, element by element, with a weight per feature.
struct Square {
  Fault fault = Fault::none;
  std::int64_t width = 3;

  template <class Ctx>
  struct Cache {
    typename Ctx::tensor x, dy, dx, kept;
  };

  std::array<Parameter, 1> parameters() const { return {Parameter{.name = "weight", .shape = {width}}}; }

  template <class Ctx>
  typename Ctx::tensor forward(Ctx& ctx, typename Ctx::tensor x, Cache<Ctx>& cache) const {
    const auto y = fault == Fault::returns_scratch ? ctx.scratch(x.shape()) : ctx.output(x.shape());
    const auto kept = fault == Fault::keeps_scratch ? ctx.scratch(x.shape()) : ctx.save(x.shape());
    cache = {.x = x, .dy = {}, .dx = {}, .kept = fault == Fault::keeps_output ? y : kept};
    const auto weight = ctx.parameter(0);
    const auto loop = [=, fault = fault] {
      for (std::int64_t i = 0; i < x.size(); ++i) {
        const auto value = x.data()[i];
        if (fault != Fault::reads_fresh_memory) kept.data()[i] = value;
        y.data()[i] = value * value + weight.data()[i % weight.size()];
        if (fault == Fault::changes_input) x.data()[i] = 0;
      }
    };
    ctx.device.launch(loop, {});
    return y;
  }

  template <class Ctx>
  typename Ctx::tensor backward(Ctx& ctx, typename Ctx::tensor dy, Cache<Ctx>& cache) const {
    const auto dx = backward_input(ctx, dy, cache);
    weight_gradient(ctx, cache);
    return dx;
  }
  template <class Ctx>
  typename Ctx::tensor backward_input(Ctx& ctx, typename Ctx::tensor dy, Cache<Ctx>& cache) const {
    const auto dx = ctx.output(dy.shape());
    cache.dy = dy;
    cache.dx = dx;
    const auto kept = cache.kept;
    const auto loop = [=, fault = fault] {
      for (std::int64_t i = 0; i < dy.size(); ++i) {
        dx.data()[i] = (fault == Fault::factor ? 2.001 : 2) * kept.data()[i] * dy.data()[i];
        if (fault == Fault::changes_output_gradient) dy.data()[i] *= 2;
      }
    };
    ctx.device.launch(loop, {});
    return dx;
  }
  template <class Ctx>
  void backward_weight(Ctx& ctx, Cache<Ctx>& cache) const {
    if (fault != Fault::forgets_weight_half) weight_gradient(ctx, cache);
  }

 private:
  template <class Ctx>
  void weight_gradient(Ctx& ctx, Cache<Ctx>& cache) const {
    const auto gradient = ctx.gradient(0);
    const auto dy = cache.dy;
    const auto dx = cache.dx;
    const auto kept = cache.kept;
    const auto loop = [=, fault = fault] {
      if (fault == Fault::overwrites_gradient)
        for (std::int64_t i = 0; i < gradient.size(); ++i) gradient.data()[i] = 0;
      for (std::int64_t i = 0; i < dy.size(); ++i)
        gradient.data()[i % gradient.size()] +=
            fault == Fault::reads_returned_gradient ? dx.data()[i] / (2 * kept.data()[i]) : dy.data()[i];
    };
    ctx.device.launch(loop, {});
  }
};

const Shape shape{2, 3, 3};

GradientReport check(Fault fault, const GradientCheckOptions& options = {}) {
  return check_gradients(Square{fault}, shape, options);
}

TEST_CASE("a layer that is right passes") {
  const GradientReport report = check(Fault::none);
  CAPTURE(to_string(report));
  CHECK(report.ok());
  CHECK(report.worst < 1e-7);
}

TEST_CASE("a wrong factor is found, named and measured") {
  const GradientReport report = check(Fault::factor);
  CHECK_FALSE(report.ok());
  CHECK(report.tensor == "the input");
  CHECK(report.method == "backward");
  CHECK(report.worst == doctest::Approx(0.0005).epsilon(0.01));
  CHECK(report.analytic / report.numeric == doctest::Approx(1.0005));
  CHECK(check(Fault::factor, {.tolerance = 1e-3}).ok());
}

TEST_CASE("a gradient that is overwritten instead of added to is found") {
  const GradientReport report = check(Fault::overwrites_gradient);
  CHECK_FALSE(report.ok());
  CHECK(report.tensor == "weight");
}

TEST_CASE("a layer that reads what it does not own is found") {
  for (const GradientReport& report : {check(Fault::keeps_output), check(Fault::keeps_scratch),
                                       check(Fault::returns_scratch), check(Fault::reads_fresh_memory)}) {
    CHECK_FALSE(report.ok());
    CHECK(report.worst == std::numeric_limits<double>::infinity());
  }
  const GradientReport late = check(Fault::reads_returned_gradient);
  CHECK_FALSE(late.ok());
  CHECK(late.tensor == "weight");
  CHECK(late.method == "backward_input and backward_weight");
}

TEST_CASE("a layer that changes its arguments is found") {
  CHECK(check(Fault::changes_input).broken ==
        "forward changed its argument, but a layer only reads its arguments");
  CHECK(to_string(check(Fault::changes_output_gradient)) ==
        "backward changed an argument, but a layer only reads its arguments");
}

TEST_CASE("a half that differs from the whole is found") {
  const GradientReport report = check(Fault::forgets_weight_half);
  CHECK_FALSE(report.ok());
  CHECK(report.tensor == "weight");
  CHECK(report.method == "backward_input and backward_weight");
  CHECK(to_string(report).find("the largest relative error is 1, at element 0 of weight: backward_input and "
                               "backward_weight gives 0, differences of forward give ") == 0);
}

/// Passes the stream on and adds half its mean square per token to the loss. It counts its calls in a state.
template <bool right>
struct Penalty {
  static constexpr float factor = 0.5F;

  template <class Ctx>
  struct Cache {
    typename Ctx::tensor x;
  };

  std::array<Parameter, 1> parameters() const {
    return {Parameter{.name = "calls", .shape = {1}, .kind = ParameterKind::state}};
  }

  template <class Ctx>
  typename Ctx::tensor forward(Ctx& ctx, typename Ctx::tensor x, Cache<Ctx>& cache) const {
    const auto y = ctx.output(x.shape());
    const auto loss = save<LossSum>(ctx, {1});
    const auto calls = ctx.state(0);
    const auto loop = [=] {
      *loss.data() = {};
      for (std::int64_t i = 0; i < x.size(); ++i) {
        y.data()[i] = x.data()[i] * calls.data()[0];
        loss.data()->sum += x.data()[i] * x.data()[i];
      }
      calls.data()[0] += 1;
    };
    ctx.device.launch(loop, {});
    ctx.add_loss("penalty", loss, factor);
    cache.x = x;
    return y;
  }
  template <class Ctx>
  typename Ctx::tensor backward(Ctx& ctx, typename Ctx::tensor dy, Cache<Ctx>& cache) const {
    const auto dx = ctx.output(dy.shape());
    const auto x = cache.x;
    const auto calls = ctx.state(0);
    const auto* seed = ctx.seed();
    const auto loop = [=] {
      for (std::int64_t i = 0; i < dy.size(); ++i)
        dx.data()[i] = dy.data()[i] * (calls.data()[0] - 1) + (right ? *seed : 1) * factor * 2 * x.data()[i];
    };
    ctx.device.launch(loop, {});
    return dx;
  }
};

TEST_CASE("losses that a layer adds count, and states are the same in every forward") {
  const GradientReport right = check_gradients(Penalty<true>{}, shape);
  CAPTURE(to_string(right));
  CHECK(right.ok());
  CHECK_FALSE(check_gradients(Penalty<false>{}, shape).ok());
}

TEST_CASE("the check is the same in every run, and another with another seed") {
  const GradientReport first = check(Fault::factor);
  const GradientReport second = check(Fault::factor);
  CHECK(first.analytic == second.analytic);
  CHECK(first.numeric == second.numeric);
  CHECK(check(Fault::factor, {.seed = 2}).analytic != first.analytic);
}

TEST_CASE("the shape must be that of a stream") {
  CHECK_THROWS_WITH_AS(
      check_gradients(Square{}, {2, 3}),
      "check_gradients needs the stream's shape {sequences, tokens, features}, but was given [2, 3]",
      ShapeError);
}

}  // namespace
}  // namespace triax
