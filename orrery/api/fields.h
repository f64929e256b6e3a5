#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "orrery/api/export.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"

namespace orrery::api {

/// Lists of fields: each request and each result names its fields once, and front ends make
/// options, JSON, schemas, keywords and documents from the list. A struct has a list where
/// `FieldList` is specialised for it:
///
///   ORRERY_HAS_FIELDS(Energy);  // in the header, in namespace orrery::api
///
///   constexpr auto kEnergyFields = std::to_array<Field<Energy>>({
///       MakeField<&Energy::step_j>("step_j", "J", "Energy of all GPUs in one step"),
///   });
///   ORRERY_SET_FIELDS(Energy, kEnergyFields)
template <typename T>
struct FieldList;

// Macros, because each of some hundred structs would need the same seven lines.
#define ORRERY_HAS_FIELDS(type)                           \
  template <>                                             \
  struct FieldList<type> {                                \
    ORRERY_API static std::span<const Field<type>> Get(); \
  }
#define ORRERY_SET_FIELDS(type, list)                   \
  std::span<const Field<type>> FieldList<type>::Get() { \
    return list;                                        \
  }

template <typename T>
concept HasFields = requires { FieldList<T>::Get(); };

/// Objects whose keys are data: "memory_parts": {"weights": 12}. In the order of the list.
template <typename T>
using Keyed = std::vector<std::pair<std::string, T>>;

enum class Presence : std::uint8_t {
  kAlways,   // null where it is not known
  kIfKnown,  // left out where it is null
  kIfAny,    // left out where it is null, an empty text or an empty list
};

/// Least and greatest value of a number in a request.
struct FieldRange {
  double least = 0;
  double most = 0;
};

/// The member of a request that an option or a property sets.
using FieldTarget =
    std::variant<std::monostate, bool*, int*, std::int64_t*, std::uint64_t*, double*, std::string*,
                 std::vector<std::string>*, std::vector<int>*, std::vector<double>*,
                 std::optional<std::int64_t>*, std::optional<double>*>;

template <typename T>
struct Field {
  std::string_view name;  // "step_time_s"
  std::string_view unit;  // "s", "bytes"; empty: none
  std::string_view doc;   // one sentence without a full stop
  Value (*get)(const T&) = nullptr;
  Value (*schema)() = nullptr;  // JSON Schema without the doc
  Presence presence = Presence::kAlways;
  bool (*is_given)(const T&) = nullptr;  // left out where it says no; null: never

  // Of requests.
  FieldTarget (*target)(T&) = nullptr;  // of results: none
  std::string_view placeholder = {};    // of the value in --help: "FILE"
  std::span<const std::string_view> choices = {};
  std::optional<FieldRange> range = {};
  bool repeats = false;        // an option that takes one value each time it is given
  bool shows_default = false;  // --help shows the value of a new request

  [[nodiscard]] constexpr Field Repeats() const {
    Field field = *this;
    field.repeats = true;
    return field;
  }

  [[nodiscard]] constexpr Field ShowsDefault() const {
    Field field = *this;
    field.shows_default = true;
    return field;
  }

  [[nodiscard]] constexpr Field When(bool (*condition)(const T&)) const {
    Field field = *this;
    field.is_given = condition;
    return field;
  }

  [[nodiscard]] constexpr Field Placeholder(std::string_view text) const {
    Field field = *this;
    field.placeholder = text;
    return field;
  }

  [[nodiscard]] constexpr Field Range(double least, double most) const {
    Field field = *this;
    field.range = FieldRange{least, most};
    return field;
  }

  [[nodiscard]] constexpr Field Choices(std::span<const std::string_view> words) const {
    Field field = *this;
    field.choices = words;
    return field;
  }

  [[nodiscard]] constexpr Field IfKnown() const {
    Field field = *this;
    field.presence = Presence::kIfKnown;
    return field;
  }

  [[nodiscard]] constexpr Field IfAny() const {
    Field field = *this;
    field.presence = Presence::kIfAny;
    return field;
  }
};

template <typename T>
[[nodiscard]] Value ToValue(const T& value);

namespace internal {

[[nodiscard]] bool IsPresent(const Value& value, Presence presence);

}  // namespace internal

/// The object of a struct that has a list of fields.
template <HasFields T>
[[nodiscard]] Value ToObject(const T& object) {
  Value data = Value::Object();
  for (const Field<T>& field : FieldList<T>::Get()) {
    if (field.is_given != nullptr && !field.is_given(object)) {
      continue;
    }
    Value value = field.get(object);
    if (internal::IsPresent(value, field.presence)) {
      data.Set(field.name, std::move(value));
    }
  }
  return data;
}

namespace internal {

template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

template <typename T>
inline constexpr bool kIsList = false;
template <typename T>
inline constexpr bool kIsList<std::vector<T>> = true;

template <typename T>
inline constexpr bool kIsKeyed = false;
template <typename T>
inline constexpr bool kIsKeyed<Keyed<T>> = true;

template <typename T>
struct MemberTypes;

template <typename T, typename M>
struct MemberTypes<M T::*> {
  using Object = T;
  using Member = M;
};

template <typename M>
[[nodiscard]] Value Schema();

}  // namespace internal

template <typename T>
Value ToValue(const T& value) {
  if constexpr (internal::kIsOptional<T>) {
    return value ? ToValue(*value) : Value();
  } else if constexpr (internal::kIsKeyed<T>) {
    Value object = Value::Object();
    for (const auto& [key, item] : value) {
      object.Set(key, ToValue(item));
    }
    return object;
  } else if constexpr (internal::kIsList<T>) {
    Value list = Value::List();
    for (const auto& item : value) {
      list.Add(ToValue(item));
    }
    return list;
  } else if constexpr (HasFields<T>) {
    return ToObject(value);
  } else {
    return Value(value);
  }
}

/// The JSON Schema of a struct that has a list of fields.
template <HasFields T>
[[nodiscard]] Value ObjectSchema();

namespace internal {

/// `{"type": name}`; the names are those of JSON Schema.
[[nodiscard]] Value TypeSchema(std::string_view name);
[[nodiscard]] Value ListSchema(Value items);
[[nodiscard]] Value KeyedSchema(Value items);
/// The same, or null.
[[nodiscard]] Value OrNull(Value schema);
/// Adds doc, unit, choices and range of a field.
[[nodiscard]] Value WithDetails(Value schema, std::string_view doc, std::string_view unit,
                                std::span<const std::string_view> choices,
                                const std::optional<FieldRange>& range);
/// Sets the member that a target points to; the error says what is expected.
[[nodiscard]] Status SetTarget(const FieldTarget& target, const Value& value);

template <typename M>
Value Schema() {
  if constexpr (kIsOptional<M>) {
    return OrNull(Schema<typename M::value_type>());
  } else if constexpr (kIsKeyed<M>) {
    return KeyedSchema(Schema<typename M::value_type::second_type>());
  } else if constexpr (kIsList<M>) {
    return ListSchema(Schema<typename M::value_type>());
  } else if constexpr (std::same_as<M, bool>) {
    return TypeSchema("boolean");
  } else if constexpr (std::integral<M>) {
    return TypeSchema("integer");
  } else if constexpr (std::floating_point<M>) {
    return TypeSchema("number");
  } else if constexpr (std::same_as<M, Value>) {
    return Value::Object();  // anything
  } else if constexpr (HasFields<M>) {
    return ObjectSchema<M>();
  } else {
    return TypeSchema("string");
  }
}

template <auto kMember>
FieldTarget TargetIn(typename MemberTypes<decltype(kMember)>::Object& object) {
  if constexpr (std::is_constructible_v<FieldTarget, decltype(&(object.*kMember))>) {
    return FieldTarget(&(object.*kMember));
  } else {
    return {};
  }
}

}  // namespace internal

/// A field of a member: `MakeField<&Energy::step_j>("step_j", "J", "Energy of all GPUs in one
/// step")`. `T` is given where the member is one of a base of it.
template <auto kMember, typename T = typename internal::MemberTypes<decltype(kMember)>::Object>
[[nodiscard]] constexpr Field<T> MakeField(std::string_view name, std::string_view unit,
                                           std::string_view doc) {
  using Member = typename internal::MemberTypes<decltype(kMember)>::Member;
  Field<T> field{.name = name, .unit = unit, .doc = doc};
  field.get = [](const T& object) { return ToValue(object.*kMember); };
  field.schema = &internal::Schema<Member>;
  field.target = [](T& object) { return internal::TargetIn<kMember>(object); };
  return field;
}

template <HasFields T>
Value ObjectSchema() {
  Value properties = Value::Object();
  Value required = Value::List();
  for (const Field<T>& field : FieldList<T>::Get()) {
    properties.Set(field.name, internal::WithDetails(field.schema(), field.doc, field.unit,
                                                     field.choices, field.range));
    if (field.presence == Presence::kAlways && field.is_given == nullptr) {
      required.Add(field.name);
    }
  }
  return internal::TypeSchema("object")
      .Set("properties", std::move(properties))
      .Set("required", std::move(required))
      .Set("additionalProperties", false);
}

/// The JSON Schema of a request: nothing in it is required, since a front end's positional
/// arguments differ; verbs say what they need.
template <HasFields T>
[[nodiscard]] Value RequestSchema() {
  Value schema = ObjectSchema<T>();
  return schema.Set("required", Value::List());
}

/// The field of that name, or null.
template <HasFields T>
[[nodiscard]] const Field<T>* FindField(std::string_view name) {
  for (const Field<T>& field : FieldList<T>::Get()) {
    if (field.name == name) {
      return &field;
    }
  }
  return nullptr;
}

/// Reads a request from a JSON object. The error names the property, and what could be meant.
template <HasFields T>
[[nodiscard]] Result<T> FromValue(const Value& object);

namespace internal {

[[nodiscard]] Status CheckObject(const Value& value);
[[nodiscard]] Status CheckRange(std::string_view name, const Value& value,
                                const std::optional<FieldRange>& range,
                                std::span<const std::string_view> choices);
[[nodiscard]] tl::unexpected<Error> UnknownProperty(std::string_view name,
                                                    const std::vector<std::string_view>& known);

template <typename T>
[[nodiscard]] Status SetField(T& request, std::string_view name, const Value& value) {
  std::vector<std::string_view> known;
  for (const Field<T>& field : FieldList<T>::Get()) {
    if (field.name == name) {
      ORRERY_TRY_STATUS(CheckRange(name, value, field.range, field.choices));
      const Status set = SetTarget(field.target(request), value);
      return set ? Status() : FailWithin(name, set);
    }
    known.push_back(field.name);
  }
  return UnknownProperty(name, known);
}

}  // namespace internal

template <HasFields T>
Result<T> FromValue(const Value& object) {
  ORRERY_TRY_STATUS(internal::CheckObject(object));
  T request;
  for (const auto& [name, value] : object.fields()) {
    ORRERY_TRY_STATUS(internal::SetField(request, name, value));
  }
  return request;
}

}  // namespace orrery::api
