// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

#include <everything.hpp>

#include "support/composition.hpp"

double step_in_second() { return triax::test::step_of_small_net(); }
const void* gemm_table_of_second() { return &triax::gemm_table; }
