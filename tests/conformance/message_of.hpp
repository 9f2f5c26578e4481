// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The text of an expected exception.

#pragma once

#include <exception>
#include <string>

namespace triax::test {

/// What the Expected that `f` throws says; anything else says what is wrong with it.
template <class Expected, class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Expected& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("(an exception of another type) ") + error.what();
  }
  return "(no exception)";
}

}  // namespace triax::test
