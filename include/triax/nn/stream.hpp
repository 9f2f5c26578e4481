// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Checks of the stream that flows from layer to layer.

#pragma once

#include <cstdint>
#include <string>

#include <triax/core/error.hpp>
#include <triax/core/shape.hpp>

namespace triax {

/// Throws ShapeError unless the stream that reaches `layer` is {sequences, tokens, features}.
inline void require_features(const char* layer, const Shape& stream, std::int64_t features) {
  if (stream.rank() == 3 && stream.columns() == features) return;
  throw ShapeError(std::string(layer) + " takes a stream of shape [sequences, tokens, " +
                   std::to_string(features) + "], but one of shape " + to_string(stream) +
                   " reached it; make the widths of the layers agree");
}

}  // namespace triax
