// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

#include "support/composition.hpp"

int main() { return triax::test::step_of_small_net() > 0 ? 0 : 1; }
