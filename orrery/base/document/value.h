#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace orrery {

/// A JSON-like value for the details of a result: null, a boolean, an integer, a number, text, a
/// list, or named fields in the order they were set.
///
///   Value detail = Value::Object();
///   detail.Set("ranks_used", 8).Set("per_rank", Value::List());
class Value {
 public:
  using Items = std::vector<Value>;
  using Fields = std::vector<std::pair<std::string, Value>>;

  Value() = default;

  Value(bool value) : value_(value) {}  // NOLINT: implicit

  Value(int value) : value_(std::int64_t{value}) {}  // NOLINT: implicit

  Value(std::int64_t value) : value_(value) {}  // NOLINT: implicit

  Value(std::uint32_t value) : value_(static_cast<std::int64_t>(value)) {}  // NOLINT: implicit

  Value(std::size_t value) : value_(static_cast<std::int64_t>(value)) {}  // NOLINT: implicit

  Value(double value) : value_(value) {}  // NOLINT: implicit

  Value(std::string value) : value_(std::move(value)) {}  // NOLINT: implicit

  Value(std::string_view value) : value_(std::string(value)) {}  // NOLINT: implicit

  Value(const char* value) : value_(std::string(value)) {}  // NOLINT: implicit

  /// Null for nothing.
  template <typename T>
  Value(const std::optional<T>& value) : Value(value ? Value(*value) : Value()) {}  // NOLINT

  [[nodiscard]] static Value Object() { return Value(Fields{}); }

  [[nodiscard]] static Value List() { return Value(Items{}); }

  /// Returns a list of what `project` makes of each item.
  template <typename Range, typename Project = std::identity>
  [[nodiscard]] static Value ListOf(const Range& items, Project project = {}) {
    Value list = List();
    for (const auto& item : items) {
      list.Add(Value(std::invoke(project, item)));
    }
    return list;
  }

  /// Sets a field of an object; an existing field is replaced.
  Value& Set(std::string_view name, Value value);

  /// Appends to a list.
  Value& Add(Value value);

  /// Returns a field of an object, or nothing.
  [[nodiscard]] const Value* Find(std::string_view name) const;

  [[nodiscard]] bool IsNull() const { return std::holds_alternative<std::monostate>(value_); }

  [[nodiscard]] bool IsObject() const { return std::holds_alternative<Fields>(value_); }

  [[nodiscard]] bool IsList() const { return std::holds_alternative<Items>(value_); }

  [[nodiscard]] const Fields& fields() const { return std::get<Fields>(value_); }

  [[nodiscard]] const Items& items() const { return std::get<Items>(value_); }

  [[nodiscard]] const auto& variant() const { return value_; }

  bool operator==(const Value&) const = default;

 private:
  explicit Value(Fields fields) : value_(std::move(fields)) {}

  explicit Value(Items items) : value_(std::move(items)) {}

  std::variant<std::monostate, bool, std::int64_t, double, std::string, Items, Fields> value_;
};

}  // namespace orrery
