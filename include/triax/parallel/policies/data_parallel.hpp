// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// How gradients are summed over the ranks that hold copies of the same parameters.

#pragma once

#include <cstddef>
#include <cstdint>

#include <triax/comm/communicator.hpp>
#include <triax/engine/initialise.hpp>
#include <triax/parallel/policies/axis.hpp>

namespace triax {

/// What a parameter means that has a gradient on some ranks of its replica group only.
enum class Unused : std::uint8_t {
  zero,   ///< the other ranks contribute zero
  error,  ///< a MismatchError that names the parameters and ranks
};

/// Every rank of a replica group works on its own samples; gradients are summed in buckets while backward
/// runs.
///
/// `SumOrder` is the order of additions over ranks: Order::rank (the default on host backends) gives the same
/// bits whatever the bucket or the backend. Buckets hold whole units, in the order in which gradients become
/// ready. The first one is small, so that communication starts early.
template <class SumOrder = Order::rank>
struct DataParallel {
  using axis = triax::axis::gradients;
  using order = SumOrder;

  std::size_t bucket_bytes = 25U << 20;
  std::size_t first_bucket_bytes = 1U << 20;
  Unused unused = Unused::zero;
  Replicas replicas = Replicas::follow;
};

}  // namespace triax
