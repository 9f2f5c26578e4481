// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Which part of a step's data a rank works on.

#pragma once

#include <triax/comm/extents.hpp>

namespace triax {

/// The rank's place among those that split the samples: its (dp, ep) coordinate as one number.
template <class MeshType>
int data_rank(const MeshType& mesh) {
  return mesh.coordinate(Axis::dp) * mesh.extents().ep + mesh.coordinate(Axis::ep);
}

/// Whether the rank's data and losses count: ranks that differ only in pp or tp hold copies of them.
template <class MeshType>
bool counts_data(const MeshType& mesh) {
  return mesh.coordinate(Axis::pp) == 0 && mesh.coordinate(Axis::tp) == 0;
}

}  // namespace triax
