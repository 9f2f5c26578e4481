// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Writes JSON objects.

#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace train_gpt {

/// A number with 9 significant digits.
inline std::string nine_digits(double number) {
  char text[32];
  return {text, static_cast<std::size_t>(std::snprintf(text, sizeof text, "%.9g", number))};
}

/// A JSON object of numbers, truth values, plain texts and objects, in the order in which they are added.
class JsonObject {
 public:
  template <std::integral Integer>
  JsonObject& add(std::string_view name, Integer value) {
    if constexpr (std::same_as<Integer, bool>)
      return append(name, value ? "true" : "false");
    else
      return append(name, std::to_string(value));
  }
  /// With 9 significant digits; null if it is not finite.
  JsonObject& add(std::string_view name, double value) {
    return append(name, std::isfinite(value) ? nine_digits(value) : "null");
  }
  /// With the fewest digits that give the same float.
  JsonObject& add(std::string_view name, float value) {
    char text[32];
    char* const end = std::to_chars(text, text + sizeof text, value).ptr;
    return append(name, std::isfinite(value) ? std::string(text, end) : "null");
  }
  /// A text without quotes, backslashes and control characters.
  JsonObject& add(std::string_view name, const std::string& value) {
    return append(name, std::string(1, '"').append(value).append(1, '"'));
  }
  JsonObject& add(std::string_view name, const JsonObject& value) { return append(name, value.line()); }

  std::string line() const { return join("", ", ", ""); }
  /// A line for each member.
  std::string lines() const { return join("\n  ", ",\n  ", "\n"); }

 private:
  JsonObject& append(std::string_view name, std::string_view value) {
    std::string& member = members_.emplace_back("\"");
    member.append(name).append("\": ").append(value);
    return *this;
  }
  std::string join(const char* before, const char* between, const char* after) const {
    std::string text = "{";
    for (const std::string& member : members_)
      text += (&member == members_.data() ? before : between) + member;
    return text + after + "}";
  }

  std::vector<std::string> members_;
};

}  // namespace train_gpt
