// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// The exceptions of the library. Every message says what was wanted, what came, where, and what to do.

#pragma once

#include <stdexcept>
#include <string>

namespace triax {

/// The base of every exception that Triax throws.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A strategy, mesh, option or model that cannot work, found before memory or communicators are made.
class ConfigError : public Error {
 public:
  using Error::Error;
};

/// A tensor or batch whose sizes do not fit the operation.
class ShapeError : public Error {
 public:
  using Error::Error;
};

/// A communication that failed: a peer threw, died or left.
class CommunicatorError : public Error {
 public:
  using Error::Error;
};

/// A wait that outlasted its deadline; names the operation and the ranks that did not come.
class TimeoutError : public CommunicatorError {
 public:
  using CommunicatorError::CommunicatorError;
};

/// Ranks that disagree on what they do together: sizes, operations, parameters.
class MismatchError : public CommunicatorError {
 public:
  using CommunicatorError::CommunicatorError;
};

/// A checkpoint that cannot be written, read or trusted; names file and tensor.
class CheckpointError : public Error {
 public:
  using Error::Error;
};

/// A failed call of a device's runtime.
class DeviceError : public Error {
 public:
  using Error::Error;
};

}  // namespace triax
