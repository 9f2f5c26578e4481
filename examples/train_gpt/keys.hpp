// SPDX-FileCopyrightText: 2026 The Triax authors
// SPDX-License-Identifier: Apache-2.0

// Reads key=value arguments.

#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "refusal.hpp"

namespace train_gpt {

/// The keys that a program understands, each bound to a variable that already holds the key's default.
class Keys {
 public:
  void text(std::string_view key, std::string& value, std::string_view meaning) {
    add(key, value, meaning, "text", [&value](std::string_view given) {
      value = given;
      return !given.empty();
    });
  }
  /// A whole number from `least` to `most`.
  template <class Integer>
  void whole(std::string_view key, Integer& value, Integer least, Integer most, std::string_view meaning) {
    const std::string wanted = "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
    add(key, std::to_string(value), meaning, wanted, [&value, least, most](std::string_view given) {
      const std::optional<Integer> number = number_in<Integer>(given, least, most);
      if (number) value = *number;
      return number.has_value();
    });
  }
  /// The same, or the word "auto", which stands for `automatic`.
  void whole_or_auto(std::string_view key, int& value, int least, int most, int automatic,
                     std::string_view meaning) {
    const std::string wanted =
        "a whole number from " + std::to_string(least) + " to " + std::to_string(most) + ", or auto";
    add(key, std::to_string(value), meaning, wanted,
        [&value, least, most, automatic](std::string_view given) {
          const std::optional<int> number = given == "auto" ? automatic : number_in<int>(given, least, most);
          if (number) value = *number;
          return number.has_value();
        });
  }
  /// A finite number from `least` to `most`.
  template <class Real>
  void real(std::string_view key, Real& value, double least, double most, std::string_view meaning) {
    std::string default_value;
    if constexpr (requires { value.has_value(); })
      default_value = value ? shortest(*value) : "";
    else
      default_value = shortest(value);
    const std::string wanted = "a number from " + shortest(least) + " to " + shortest(most);
    add(key, default_value, meaning, wanted, [&value, least, most](std::string_view given) {
      const std::optional<double> number = number_in<double>(given, least, most);
      if (number) value = *number;
      return number.has_value();
    });
  }
  /// One of several named values.
  template <class Value>
  void choice(std::string_view key, Value& value,
              std::initializer_list<std::pair<std::string_view, Value>> choices, std::string_view meaning) {
    std::string names;
    std::string default_value;
    for (const auto& [name, chosen] : choices) {
      if (!names.empty()) names += '|';
      names += name;
      if (chosen == value) default_value = name;
    }
    add(key, default_value, meaning, names, [&value, list = std::vector(choices)](std::string_view given) {
      for (const auto& [name, chosen] : list) {
        if (name != given) continue;
        value = chosen;
        return true;
      }
      return false;
    });
  }

  /// Sets the variables. A key that is given twice has its last value. Throws Refusal for an unknown key or a
  /// bad value.
  void read(const std::vector<std::string_view>& arguments) {
    for (const std::string_view argument : arguments) {
      const std::size_t equals = argument.find('=');
      if (equals == std::string_view::npos)
        throw Refusal("'" + std::string(argument) + "' is no key=value; " + nearest_to(argument));
      const std::string_view name = argument.substr(0, equals);
      const Key* const key = find(name);
      if (!key) throw Refusal("there is no key '" + std::string(name) + "'; " + nearest_to(name));
      const std::string_view value = argument.substr(equals + 1);
      if (!key->set(value)) throw Refusal(key->name + "=" + std::string(value) + ": expected " + key->wanted);
    }
  }

  /// One line per key: its default, what it takes and what it means.
  std::string help() const {
    std::string text;
    for (const Key& key : keys_) {
      std::string line = "  " + key.name + "=" + key.default_value;
      line.resize(line.size() < 34 ? 34 : line.size(), ' ');
      text += line + " " + key.meaning + ": " + key.wanted + "\n";
    }
    return text;
  }

 private:
  struct Key {
    std::string name;
    std::string default_value;
    std::string meaning;
    std::string wanted;
    std::function<bool(std::string_view)> set;  // false for a bad value
  };

  void add(std::string_view name, const std::string& default_value, std::string_view meaning,
           std::string wanted, std::function<bool(std::string_view)> set) {
    keys_.push_back(
        {std::string(name), default_value, std::string(meaning), std::move(wanted), std::move(set)});
  }
  const Key* find(std::string_view name) const {
    for (const Key& key : keys_)
      if (key.name == name) return &key;
    return nullptr;
  }

  /// A finite number of the whole text; "1.5" is no integer, and neither is "1e3".
  template <class Number>
  static std::optional<Number> number_in(std::string_view text, Number least, Number most) {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) return {};
    if (!(number >= least && number <= most)) return {};  // a NaN is in no range
    return number;
  }
  static std::string shortest(double number) {
    char digits[32];
    return {digits, std::to_chars(digits, digits + sizeof digits, number).ptr};
  }

  /// A misspelt key is near its whole name; a key without its group is near the last part of the name.
  std::string nearest_to(std::string_view given) const {
    const Key* nearest = nullptr;
    std::size_t least = 0;
    for (const Key& key : keys_) {
      const std::string_view name = key.name;
      const std::string_view last_part = name.substr(name.rfind('.') + 1);
      const std::size_t whole = edit_distance(given, name);
      const std::size_t part = edit_distance(given, last_part);
      const std::size_t distance = whole < part ? whole : part;
      if (nearest && distance >= least) continue;
      nearest = &key;
      least = distance;
    }
    return "the nearest key is '" + nearest->name + "'";
  }
  /// How many letters must be inserted, removed or replaced to make `b` from `a` (Levenshtein, 1966).
  static std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 0; i < a.size(); ++i) {
      std::size_t diagonal = row[0]++;
      for (std::size_t j = 0; j < b.size(); ++j) {
        const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
        const std::size_t shifted = (row[j] < row[j + 1] ? row[j] : row[j + 1]) + 1;
        diagonal = row[j + 1];
        row[j + 1] = replaced < shifted ? replaced : shifted;
      }
    }
    return row.back();
  }

  std::vector<Key> keys_;
};

}  // namespace train_gpt
