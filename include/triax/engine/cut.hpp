// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Where a pipeline is cut.

#pragma once

#include <limits>
#include <string>
#include <vector>

#include <triax/core/error.hpp>

namespace triax {

/// Cuts a row of units into `stages` contiguous parts, none empty, so that the dearest part is as cheap as possible and,
/// among such cuts, the parts are as equal as possible (least sum of squares). Returns stages + 1 bounds: stage s holds
/// units [bounds[s], bounds[s + 1]). Throws ConfigError for fewer units than stages.
inline std::vector<int> cut_by_cost(const std::vector<double>& costs, int stages) {
  const int units = static_cast<int>(costs.size());
  if (units < stages)
    throw ConfigError("a pipeline of " + std::to_string(stages) + " stages needs at least as many units, but the model has " +
                      std::to_string(units) + "; lower pp or add layers");
  std::vector<double> before(1, 0.0);
  for (const double cost : costs) before.push_back(before.back() + cost);
  const auto part = [&](int from, int to) { return before[static_cast<std::size_t>(to)] - before[static_cast<std::size_t>(from)]; };

  // Costs come from floating-point sums: parts that differ by less than this are the same.
  const double tolerance = 1e-9 * before.back();
  struct Best {
    double dearest = std::numeric_limits<double>::infinity();
    double squares = std::numeric_limits<double>::infinity();
    int from = 0;
  };
  const std::size_t row = static_cast<std::size_t>(units) + 1;
  std::vector<Best> best((static_cast<std::size_t>(stages) + 1) * row);
  const auto at = [&](int stage, int unit) -> Best& {
    return best[static_cast<std::size_t>(stage) * row + static_cast<std::size_t>(unit)];
  };
  at(0, 0) = {0, 0, 0};
  for (int stage = 1; stage <= stages; ++stage) {
    for (int to = stage; to <= units; ++to) {
      // Later cuts first: of two equal choices the earlier stages take more units.
      for (int from = to - 1; from >= stage - 1; --from) {
        const Best& rest = at(stage - 1, from);
        const double cost = part(from, to);
        const Best candidate{rest.dearest > cost ? rest.dearest : cost, rest.squares + cost * cost, from};
        Best& current = at(stage, to);
        const bool cheaper = candidate.dearest < current.dearest - tolerance;
        const bool as_cheap = candidate.dearest <= current.dearest + tolerance;
        const bool more_equal = candidate.squares < current.squares - tolerance * before.back();
        if (cheaper || (as_cheap && more_equal)) current = candidate;
      }
    }
  }
  std::vector<int> bounds(static_cast<std::size_t>(stages) + 1, units);
  for (int stage = stages; stage > 0; --stage)
    bounds[static_cast<std::size_t>(stage) - 1] = at(stage, bounds[static_cast<std::size_t>(stage)]).from;
  return bounds;
}

}  // namespace triax
