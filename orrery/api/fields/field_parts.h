#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "orrery/api/fields.h"

namespace orrery::api {

namespace internal {

// The field of a part of a request as one of the request. `kField` is of a list with a name, since
// functions without state must find it.
template <auto kPart, const auto& kFields, std::size_t kIndex>
[[nodiscard]] constexpr auto PartField() {
  using T = typename MemberTypes<decltype(kPart)>::Object;
  constexpr const auto& kOwn = kFields[kIndex];
  Field<T> field{.name = kOwn.name, .unit = kOwn.unit, .doc = kOwn.doc};
  field.get = [](const T& object) { return kFields[kIndex].get(object.*kPart); };
  field.schema = kOwn.schema;
  field.presence = kOwn.presence;
  field.target = [](T& object) { return kFields[kIndex].target(object.*kPart); };
  field.placeholder = kOwn.placeholder;
  field.choices = kOwn.choices;
  field.range = kOwn.range;
  field.repeats = kOwn.repeats;
  field.shows_default = kOwn.shows_default;
  return field;
}

}  // namespace internal

/// The fields of a part, as fields of the request that holds it: `PartFields<&Request::run,
/// kRunFields>()`.
template <auto kPart, const auto& kFields>
[[nodiscard]] constexpr auto PartFields() {
  return []<std::size_t... kIndices>(std::index_sequence<kIndices...>) {
    return std::array{internal::PartField<kPart, kFields, kIndices>()...};
  }(std::make_index_sequence<kFields.size()>());
}

/// One list of the fields of several, in their order.
template <typename T, std::size_t... kSizes>
[[nodiscard]] constexpr auto JoinFields(const std::array<Field<T>, kSizes>&... lists) {
  std::array<Field<T>, (kSizes + ...)> all{};
  std::size_t place = 0;
  const auto append = [&](const auto& list) {
    for (const Field<T>& field : list) {
      all[place++] = field;
    }
  };
  (append(lists), ...);
  return all;
}

}  // namespace orrery::api
