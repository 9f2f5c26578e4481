// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Many copies of a layer from one instantiation.

#pragma once

namespace triax {

/// An entry of a model's list that stands for `count` copies of `layer`, each with parameters of its own.
/// Every copy is a unit: the grain of pipeline cuts, parameter gathers and buckets. The number of copies is a
/// run-time value, so a deep model compiles as fast as a shallow one.
template <class L>
struct Repeat {
  using layer_type = L;

  L layer;
  int count = 1;
};
template <class L>
Repeat(L, int) -> Repeat<L>;

}  // namespace triax
