// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Puts messages together.

#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace triax::detail {

inline void append(std::string& text, std::string_view part) { text += part; }
inline void append(std::string& text, std::integral auto number) { text += std::to_string(number); }

/// The parts one after the other, numbers in decimal.
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::string text;
  (append(text, parts), ...);
  return text;
}

/// Appends `item` to a list, with `separator` before all but the first.
inline void append_item(std::string& list, std::string_view separator, std::string_view item) {
  if (!list.empty()) list += separator;
  list += item;
}

}  // namespace triax::detail
