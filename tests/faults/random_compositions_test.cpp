// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Random models in random layouts, against a plain computation in double: what no list of cases thinks of. A
// failure names its number, and the same number gives the same case again.

#include <algorithm>
#include <cmath>
#include <random>

#include <doctest/doctest.h>

#include <triax/schedule/gpipe.hpp>

#include "faults/trainer.hpp"

namespace triax::test {
namespace {

/// One parameter of the model, in double.
struct Weight {
  std::string path;
  std::string name;
  std::size_t values = 0;  ///< index into Reference::values: tied parameters share one
  std::int64_t column = 0;
  bool frozen = false;
  bool decay = true;
};

/// Trains the scripted model by its formulas, on the whole batch at once.
class Reference {
 public:
  explicit Reference(const ScriptedNet& net) {
    add_parameters(std::get<1>(net.layers), "1.0.");
    add_parameters(std::get<2>(net.layers), "2.0.");
    scales.assign(static_cast<std::size_t>(std::get<3>(net.layers).count), {1});
    for (std::size_t i = 0; i < scales.size(); ++i) {
      weights.push_back({.path = "3." + std::to_string(i) + ".w", .name = "w", .values = values.size()});
      values.emplace_back(1, 1.0);
    }
    velocity.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) velocity[i].resize(values[i].size());
  }

  struct Token {
    std::vector<float> slopes;
    double weight = 1;
    std::vector<std::string> unused;  ///< parameters of which its rank has no gradient
  };

  /// Sets loss, norm and gradients of the tokens.
  void differentiate(const std::vector<Token>& tokens) {
    gradients.assign(values.size(), {});
    for (std::size_t i = 0; i < values.size(); ++i) gradients[i].resize(values[i].size());
    present.assign(values.size(), false);
    double count = 0, product = 1;
    for (const Token& token : tokens) count += token.weight;
    for (const Weight& w : weights)
      if (w.name == "w") product *= values[w.values][0];
    loss = 0;
    for (const Token& token : tokens) {
      double dot = 0;
      for (const Weight& w : weights)
        if (w.name != "w")
          for (std::size_t j = 0; j < values[w.values].size(); ++j)
            dot += values[w.values][j] * slope(token, w, j);
      if (count > 0) loss += token.weight * dot * product / count;
      for (const Weight& w : weights) {
        const bool used = std::find(token.unused.begin(), token.unused.end(), w.name) == token.unused.end();
        if (w.frozen || !used) continue;
        present[w.values] = true;
        for (std::size_t j = 0; j < values[w.values].size() && count > 0; ++j)
          gradients[w.values][j] += token.weight / count * product *
                                    (w.name == "w" ? dot / values[w.values][0] : slope(token, w, j));
      }
    }
    norm = 0;
    for (const std::vector<double>& gradient : gradients)
      for (const double g : gradient) norm += g * g;
    norm = std::sqrt(norm);
  }

  /// Descends with momentum, decay and a limit on the norm (none if 0).
  void descend(double rate, double momentum, double decay, double limit) {
    const double factor = limit > 0 && norm > limit ? limit / norm : 1;
    std::vector<bool> done(values.size());
    for (const Weight& w : weights) {
      if (w.frozen || !present[w.values] || done[w.values]) continue;
      done[w.values] = true;
      for (std::size_t j = 0; j < values[w.values].size(); ++j) {
        double& value = values[w.values][j];
        double& speed = velocity[w.values][j];
        speed = momentum * speed + factor * gradients[w.values][j] + (w.decay ? decay * value : 0);
        value -= rate * speed;
      }
    }
  }

  std::vector<Weight> weights;
  std::vector<std::vector<double>> values;
  std::vector<std::vector<double>> gradients;
  std::vector<std::vector<double>> velocity;
  std::vector<std::vector<double>> scales;
  std::vector<bool> present;
  double loss = 0;
  double norm = 0;

 private:
  static double slope(const Token& token, const Weight& w, std::size_t j) {
    return real(token.slopes[static_cast<std::size_t>(w.column) + j]);
  }
  void add_parameters(const Dots& dots, const std::string& prefix) {
    std::int64_t column = dots.first_column;
    for (const Parameter& parameter : dots.declared) {
      Weight w{prefix + parameter.name, parameter.name, values.size(), column,
               parameter.frozen,        parameter.decay};
      bool known = false;
      for (const auto& [tie, index] : ties_)
        if (!parameter.tie.empty() && tie == parameter.tie) {
          w.values = index;
          known = true;
        }
      if (!known) {
        ties_.emplace_back(parameter.tie, values.size());
        values.emplace_back(static_cast<std::size_t>(parameter.shape.size()), real(parameter.init.location));
      }
      column += parameter.shape.size();
      weights.push_back(w);
    }
  }

  std::vector<std::pair<std::string, std::size_t>> ties_;
};

/// A case: everything that its number decides.
class Case {
 public:
  explicit Case(unsigned number) : random_(number) {
    static constexpr std::array sizes{0, 1, 2, 3, 31, 32, 33, 64, 100, 257};
    std::vector<Parameter> first, second;
    const bool tied = one_in(2);
    const std::int64_t tied_size = sizes[below(sizes.size())];
    for (int i = 0; i < 6; ++i) {
      Parameter parameter =
          filled("p" + std::to_string(i), {sizes[below(sizes.size())]}, static_cast<float>(1 + below(3)) / 4);
      parameter.frozen = one_in(5);
      parameter.decay = !one_in(3);
      if (tied && one_in(2)) {
        parameter = filled(parameter.name, {tied_size}, 0.5F);
        parameter.tie = "E";
      }
      columns += parameter.shape.size();
      (i < 3 ? first : second).push_back(parameter);
    }
    if (columns == 0) columns = 1;
    dp = static_cast<int>(1 + below(4));
    pp = static_cast<int>(1 + below(dp > 2 ? 2 : 4));
    setup.net = scripted_net(first, second, static_cast<int>(below(4)) + (pp > 3 ? 1 : 0));
    setup.extents = {.dp = dp, .pp = pp};
    setup.stage = every_stage[below(4)];
    if (setup.stage >= Stage::gradients && one_in(2)) setup.accumulate = Accumulate::local;
    setup.micro_batches = static_cast<int>(1 + below(5));
    if (one_in(2)) setup.schedule = GPipe{};
    setup.data_parallel.bucket_bytes = std::array<std::size_t, 3>{1, 200, 25U << 20}[below(3)];
    setup.data_parallel.first_bucket_bytes = std::array<std::size_t, 2>{1, 500}[below(2)];
    setup.optimizer = Sgd{.lr = rate, .momentum = momentum, .weight_decay = decay};
    if (one_in(2)) setup.clip = {By::norm, static_cast<float>(limit = 0.5)};
    most_sequences = 1 + below(7);
    most_tokens = 1 + below(3);
  }

  std::size_t below(std::size_t n) { return random_() % n; }
  bool one_in(std::size_t n) { return below(n) == 0; }

  Setup setup;
  int dp = 1;
  int pp = 1;
  std::int64_t columns = 0;
  std::size_t most_sequences = 1;
  std::size_t most_tokens = 1;
  double limit = 0;
  static constexpr double rate = 0.0625, momentum = 0.5, decay = 0.125;

 private:
  std::minstd_rand random_;
};

/// A step's data: that of each data-parallel rank, and all tokens.
struct StepData {
  std::vector<Rows> of_rank;
  std::vector<std::vector<std::string>> unused_of_rank;
  std::vector<Reference::Token> all;
  bool in_two_calls = false;  ///< forward_backward and update, with an evaluation between them
};
StepData step_data(Case& c, bool largest) {
  StepData data;
  const std::size_t sequences = largest ? c.most_sequences : 1 + c.below(c.most_sequences);
  const std::size_t tokens = largest ? c.most_tokens : 1 + c.below(c.most_tokens);
  const bool no_token_counts = c.one_in(12);
  data.in_two_calls = c.one_in(3);
  const bool somewhere_unused = c.one_in(3);
  const std::string unused = "p" + std::to_string(c.below(6));
  for (int rank = 0; rank < c.dp; ++rank) {
    std::vector<std::vector<float>> slopes;
    std::vector<float> weights;
    const bool rank_is_empty = c.one_in(6) || no_token_counts;
    data.unused_of_rank.emplace_back();
    if (somewhere_unused && !c.one_in(3)) data.unused_of_rank.back().push_back(unused);
    for (std::size_t i = 0; i < sequences * tokens; ++i) {
      std::vector<float>& row = slopes.emplace_back();
      for (std::int64_t j = 0; j < c.columns; ++j) row.push_back((static_cast<float>(c.below(9)) - 3) / 64);
      weights.push_back(rank_is_empty || c.one_in(5) ? 0 : static_cast<float>(1 + c.below(2)));
      data.all.push_back({row, real(weights.back()), data.unused_of_rank.back()});
    }
    data.of_rank.push_back(Rows::of(slopes, weights).in_sequences_of(static_cast<std::int64_t>(tokens)));
  }
  return data;
}

bool close(double a, double b) { return std::abs(a - b) <= 2e-5 * std::max({std::abs(a), std::abs(b), 0.1}); }

/// What differs in the case; empty if nothing does.
std::string differences(unsigned number) {
  Case c(number);
  std::vector<StepData> steps;
  for (int i = 0; i < 4; ++i) steps.push_back(step_data(c, i == 2));
  std::vector<std::string> said(static_cast<std::size_t>(c.dp * c.pp));
  on_ranks(c.dp * c.pp, [&](ThreadCommunicator world) {
    std::string& text = said[static_cast<std::size_t>(world.rank())];
    const auto expect = [&](const std::string& what, double got, double wanted) {
      if (!close(got, wanted) && text.size() < 300)
        text += what + " is " + std::to_string(got) + " instead of " + std::to_string(wanted) + "; ";
    };
    Reference reference(c.setup.net);
    Setup setup = c.setup;
    Script script;
    setup.script = &script;
    const auto model = make_trainer<float>(world, setup);
    const BatchShape most{static_cast<std::int64_t>(c.most_sequences),
                          static_cast<std::int64_t>(c.most_tokens), c.columns, 0};
    model->reserve(most);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const auto dp_rank = static_cast<std::size_t>(world.rank() % c.dp);
      const Rows& rows = steps[i].of_rank[dp_rank];
      script.unused = steps[i].unused_of_rank[dp_rank];
      reference.differentiate(steps[i].all);
      const std::string at = "step " + std::to_string(i) + ": ";
      for (const Rows& evaluated : {rows, rows.twice()}) {  // the second may not fit at once
        const LossSum sum = model->evaluate(evaluated);
        expect(at + "the evaluated loss", sum.weight > 0 ? sum.sum / sum.weight : 0, reference.loss);
      }
      if (steps[i].in_two_calls) {
        model->forward_backward(rows);
        model->evaluate(rows);
      }
      const Outcome outcome = steps[i].in_two_calls ? model->update() : model->step(rows);
      expect(at + "the loss", outcome.loss, reference.loss);
      expect(at + "the norm", outcome.norm, reference.norm);
      for (const Weight& w : reference.weights) {
        if (w.frozen) continue;
        const std::vector<float> gradient = model->gradient(w.path);
        for (std::size_t j = 0; j < gradient.size(); ++j)
          expect(at + "gradient " + w.path + "[" + std::to_string(j) + "]", real(gradient[j]),
                 reference.gradients[w.values][j]);
      }
      reference.descend(Case::rate, Case::momentum, Case::decay, c.limit);
      for (const Weight& w : reference.weights) {
        const std::vector<float> values = model->parameter(w.path);
        expect(at + "the size of " + w.path, real(values.size()), real(reference.values[w.values].size()));
        for (std::size_t j = 0; j < values.size(); ++j)
          expect(at + w.path + "[" + std::to_string(j) + "]", real(values[j]), reference.values[w.values][j]);
      }
      if (!text.empty()) break;
    }
    RankBytes planned = model->planned(most).bytes;
    const RankBytes measured = model->bytes();
    expect("bytes", real(measured.total()), real(planned.total()));
    if (!(planned == measured)) text += "the plan differs from what is used; ";
  });
  std::string all;
  for (std::size_t rank = 0; rank < said.size(); ++rank)
    if (!said[rank].empty()) all += "rank " + std::to_string(rank) + ": " + said[rank];
  return all;
}

TEST_CASE("random models in random layouts train as the formulas say") {
  for (unsigned number = 1; number <= 150; ++number) {
    CAPTURE(number);
    CHECK(differences(number) == "");
  }
}

}  // namespace
}  // namespace triax::test
