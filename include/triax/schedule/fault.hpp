// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// What can be wrong with a schedule.

#pragma once

#include <cstdint>

namespace triax {

/// The faults that building and verifying a table can find, in the order in which they are looked for.
enum class Fault : std::uint8_t {
  none,
  extents,
  placement,
  out_of_range,
  unexpected_work,
  repeated_work,
  missing_work,
  accumulation_order,
  dependency,
  message_order,
  deadlock
};

/// A fault as a sentence that follows the name of the schedule.
constexpr const char* sentence(Fault fault) {
  switch (fault) {
    case Fault::none:
      return "is free of faults";
    case Fault::extents:
      return "does not exist for these numbers of ranks and micro-batches";
    case Fault::placement:
      return "does not give every rank and virtual stage its own position in the model";
    case Fault::out_of_range:
      return "names a rank, micro-batch or virtual stage that does not exist";
    case Fault::unexpected_work:
      return "does work that is not among its passes or has no counterpart on a neighbour";
    case Fault::repeated_work:
      return "does the same work twice";
    case Fault::missing_work:
      return "leaves work of a micro-batch out";
    case Fault::accumulation_order:
      return "does not take micro-batches in rising order on every virtual stage, "
             "so losses and gradients would not be summed in the same order as in other schedules";
    case Fault::dependency:
      return "does work before its inputs exist";
    case Fault::message_order:
      return "receives messages in another order than they are sent";
    case Fault::deadlock:
      return "deadlocks: ranks wait for each other with at most two messages under way";
  }
  return "has an unknown fault";
}

/// The result of a verification: a fault, and where it was found first.
struct Verdict {
  Fault fault = Fault::none;
  int rank = -1;    ///< of the action at fault; -1 when the fault has no place
  int action = -1;  ///< index into the rank's actions; -1 when no single action is at fault

  constexpr bool operator==(const Verdict&) const = default;
};

}  // namespace triax
