#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <fmt/core.h>
#include <simdjson.h>

#include "orrery/base/error.h"

namespace orrery::workload {

/// Reads values of one JSON object under any of several keys. `null` counts as absent. What is
/// wrong is kept, the first thing only, so that a reader is a plain list and asks once at the end.
class JsonConfig {
 public:
  explicit JsonConfig(simdjson::dom::object object) : object_(object) {}

  using Keys = std::initializer_list<std::string_view>;

  [[nodiscard]] std::int64_t Size(Keys keys, std::int64_t fallback) {
    Know(keys);
    for (const std::string_view key : keys) {
      const std::optional<simdjson::dom::element> value = Find({key});
      if (!value) {
        continue;
      }
      std::int64_t size = 0;
      if (value->get(size) || size < 0) {
        Wrong(key, "must be a whole number of at least 0");
      }
      return size;
    }
    return fallback;
  }

  [[nodiscard]] double Number(std::string_view key, double fallback) {
    return Get({key}, fallback, "must be a number");
  }

  [[nodiscard]] bool Flag(std::string_view key, bool fallback) {
    return Get({key}, fallback, "must be true or false");
  }

  [[nodiscard]] std::string Text(Keys keys, std::string_view fallback) {
    return std::string(Get(keys, fallback, "must be a string"));
  }

  [[nodiscard]] std::optional<simdjson::dom::element> Find(Keys keys) {
    Know(keys);
    for (const std::string_view key : keys) {
      simdjson::dom::element value;
      if (!object_.at_key(key).get(value) && !value.is_null()) {
        return value;
      }
    }
    return std::nullopt;
  }

  void Wrong(std::string_view key, std::string_view expectation) {
    if (!first_error_) {
      first_error_.emplace(Error::Kind::kInvalidInput, fmt::format("{} {}", key, expectation));
    }
  }

  /// Members that need not be read.
  void Know(Keys keys) { known_.insert(keys.begin(), keys.end()); }

  /// Calls `visit(key, value)` for each member that was not read.
  template <typename Visit>
  void ForEachUnread(Visit visit) const {
    for (const auto member : object_) {
      if (!known_.contains(member.key)) {
        visit(member.key, member.value);
      }
    }
  }

  [[nodiscard]] const std::optional<Error>& first_error() const { return first_error_; }

 private:
  template <typename Value>
  Value Get(Keys keys, Value value, std::string_view expectation) {
    const std::optional<simdjson::dom::element> found = Find(keys);
    if (found && found->get(value)) {
      Wrong(*keys.begin(), expectation);
    }
    return value;
  }

  simdjson::dom::object object_;
  std::optional<Error> first_error_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace orrery::workload
