// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Counts heap allocations, so that a test can assert that there are none.

#pragma once

#include <cstddef>

namespace triax::test {

/// The heap allocations of the whole process since it started: every thread, by malloc and its relatives, by
/// operator new, and inside linked libraries. Memory that comes straight from mmap is not seen, nor, under
/// ThreadSanitizer, allocations with an alignment.
struct Allocations {
  std::size_t count = 0;
  std::size_t bytes = 0;  // as requested; frees are not subtracted
};

Allocations allocations() noexcept;

/// The heap allocations since the object was made, by all threads.
class AllocationCount {
 public:
  AllocationCount() noexcept : start_(allocations()) {}
  std::size_t count() const noexcept { return allocations().count - start_.count; }
  std::size_t bytes() const noexcept { return allocations().bytes - start_.bytes; }

 private:
  Allocations start_;
};

}  // namespace triax::test
