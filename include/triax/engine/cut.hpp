// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Where a pipeline is cut.

#pragma once

#include <limits>
#include <string>
#include <vector>

#include <triax/core/error.hpp>

namespace triax {

/// Cuts a row of units into `stages` contiguous parts, none empty, so that the dearest part is as cheap as
/// possible and, among such cuts, the parts are as equal as possible (least sum of squares). Returns stages +
/// 1 bounds: stage s holds units [bounds[s], bounds[s + 1]). Throws ConfigError for fewer units than stages.
inline std::vector<int> cut_by_cost(const std::vector<double>& costs, int stages) {
  const int units = static_cast<int>(costs.size());
  if (units < stages)
    throw ConfigError("a pipeline of " + std::to_string(stages) +
                      " stages needs at least as many units, but the model has " + std::to_string(units) +
                      "; lower pp or add layers");
  std::vector<double> before(1, 0.0);
  for (const double cost : costs) before.push_back(before.back() + cost);
  const double all = before.back();
  // Costs come from floating-point sums: parts that differ by less than this are the same.
  const double tolerance = 1e-9 * all;

  struct Best {
    double value = std::numeric_limits<double>::infinity();
    int from = 0;  ///< where the last part begins
  };
  const std::size_t row = static_cast<std::size_t>(units) + 1;
  std::vector<Best> best;
  const auto at = [&](int stage, int unit) -> Best& {
    return best[static_cast<std::size_t>(stage) * row + static_cast<std::size_t>(unit)];
  };
  // The least combine(combine(..., part), part) over all cuts whose parts cost no more than `limit`.
  const auto minimise = [&](double limit, double slack, auto combine) {
    best.assign((static_cast<std::size_t>(stages) + 1) * row, Best{});
    at(0, 0).value = 0;
    for (int stage = 1; stage <= stages; ++stage)
      for (int to = stage; to <= units; ++to)
        // Later cuts first: of two equal choices the earlier stages take more units.
        for (int from = to - 1; from >= stage - 1; --from) {
          const double part = before[static_cast<std::size_t>(to)] - before[static_cast<std::size_t>(from)];
          if (part > limit) break;
          const double value = combine(at(stage - 1, from).value, part);
          if (value < at(stage, to).value - slack) at(stage, to) = {value, from};
        }
    return at(stages, units).value;
  };
  const double dearest = minimise(std::numeric_limits<double>::infinity(), 0,
                                  [](double rest, double part) { return rest > part ? rest : part; });
  minimise(dearest + tolerance, tolerance * all, [](double rest, double part) { return rest + part * part; });

  std::vector<int> bounds(static_cast<std::size_t>(stages) + 1, units);
  for (int stage = stages; stage > 0; --stage)
    bounds[static_cast<std::size_t>(stage) - 1] = at(stage, bounds[static_cast<std::size_t>(stage)]).from;
  return bounds;
}

}  // namespace triax
