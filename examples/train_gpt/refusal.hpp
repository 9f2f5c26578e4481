// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The error of a run that cannot begin.

#pragma once

#include <stdexcept>

#include <triax/core/error.hpp>

namespace train_gpt {

/// An option, file or mesh that cannot work. It is thrown before anything is written, and by every rank
/// alike, so that the program can end without leaving a rank behind.
class Refusal : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Calls `f`, in which the library's ConfigError and ShapeError are refusals.
template <class F>
void refuse_what_cannot_work(F f) {
  try {
    f();
  } catch (const triax::ConfigError& error) {
    throw Refusal(error.what());
  } catch (const triax::ShapeError& error) {
    throw Refusal(error.what());
  }
}

}  // namespace train_gpt
