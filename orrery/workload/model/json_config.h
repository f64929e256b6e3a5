#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include <simdjson.h>

#include "orrery/base/error.h"

namespace orrery::workload {

/// Reads values of one JSON object under any of several keys. `null` counts as absent. What is
/// wrong is kept, the first thing only, so that a reader is a plain list and asks once at the end.
class JsonConfig {
 public:
  explicit JsonConfig(simdjson::dom::object object) : object_(object) {}

  using Keys = std::initializer_list<std::string_view>;

  [[nodiscard]] std::optional<std::int64_t> FindSize(Keys keys);

  [[nodiscard]] std::int64_t Size(Keys keys, std::int64_t fallback) {
    return FindSize(keys).value_or(fallback);
  }

  [[nodiscard]] double Number(std::string_view key, double fallback);
  [[nodiscard]] bool Flag(std::string_view key, bool fallback);
  [[nodiscard]] std::string Text(Keys keys, std::string_view fallback);
  [[nodiscard]] std::optional<simdjson::dom::element> Find(Keys keys) const;

  void Wrong(std::string_view key, std::string_view expectation);

  [[nodiscard]] const std::optional<Error>& first_error() const { return first_error_; }

 private:
  simdjson::dom::object object_;
  std::optional<Error> first_error_;
};

}  // namespace orrery::workload
