// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

#include <everything.hpp>

const void* address_in_second() { return &triax::gemm_table; }
