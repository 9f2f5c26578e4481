// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

#include <everything.hpp>

#include "support/composition.hpp"

double step_in_second();
const void* gemm_table_of_second();

// An inline variable is one object, and both translation units compute the same.
int main() {
  const bool one_table = gemm_table_of_second() == &triax::gemm_table;
  const bool same_loss = step_in_second() == triax::test::step_of_small_net();
  return one_table && same_loss ? 0 : 1;
}
