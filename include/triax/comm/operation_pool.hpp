// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Operations that are made once and used again and again, so that communication allocates nothing in the long
// run.

#pragma once

#include <memory>
#include <vector>

namespace triax {

/// Owns operations of one kind. Grows to the largest number that was ever in use at the same time. One
/// thread.
template <class Operation>
class OperationPool {
 public:
  Operation& take() {
    if (free_.empty()) {
      operations_.push_back(std::make_unique<Operation>());
      free_.reserve(operations_.size());  // so that `give_back` cannot fail
      return *operations_.back();
    }
    Operation& operation = *free_.back();
    free_.pop_back();
    return operation;
  }
  void give_back(Operation& operation) noexcept { free_.push_back(&operation); }

 private:
  std::vector<std::unique_ptr<Operation>> operations_;
  std::vector<Operation*> free_;
};

}  // namespace triax
