// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// How a step's batch is cut.

#pragma once

#include <cstdint>

namespace triax {

/// Cuts `sequences` into `count` contiguous micro-batches whose sizes differ by at most one, the larger ones
/// first. A batch of fewer sequences than micro-batches is cut into single sequences: none is empty.
class MicroBatchCut {
 public:
  MicroBatchCut(std::int64_t sequences, std::int64_t count)
      : sequences_(sequences), count_(count < sequences ? count : (sequences > 0 ? sequences : 1)) {}

  int count() const { return static_cast<int>(count_); }
  std::int64_t first(int index) const {
    const std::int64_t larger = sequences_ % count_;
    return index * (sequences_ / count_) + (index < larger ? index : larger);
  }
  std::int64_t size(int index) const { return sequences_ / count_ + (index < sequences_ % count_ ? 1 : 0); }
  std::int64_t largest() const { return size(0); }

 private:
  std::int64_t sequences_;
  std::int64_t count_;
};

}  // namespace triax
