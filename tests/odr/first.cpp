// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

#include <everything.hpp>

const void* address_in_second();

// An inline variable is one object, whatever translation unit looks at it.
int main() { return address_in_second() == &triax::gemm_table ? 0 : 1; }
