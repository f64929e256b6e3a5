#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "orrery/api/fields.h"
#include "orrery/cli/verb.h"

namespace orrery::cli {

/// The name of a field as an option: "--step-only FILE".
[[nodiscard]] std::string OptionName(std::string_view field, std::string_view placeholder);

/// Parts of a field that do not depend on its request.
struct OptionDetails {
  std::string name;
  std::string doc;
  std::vector<std::string> choices;
  const api::FieldRange* range = nullptr;
  bool repeats = false;
  bool shows_default = false;
};

void AddTargetOption(Verb& verb, const api::FieldTarget& target, const OptionDetails& details);

/// Adds the option of one field. `name` replaces the option's name where it has others too:
/// "--emulate,--play MODEL".
template <typename Request>
void AddFieldOption(Verb& verb, Request& request, std::string_view field_name,
                    std::string name = {}) {
  const api::Field<Request>* const field = api::FindField<Request>(field_name);
  AddTargetOption(
      verb, field->target(request),
      {.name = name.empty() ? OptionName(field->name, field->placeholder) : std::move(name),
       .doc = std::string(field->doc),
       .choices = {field->choices.begin(), field->choices.end()},
       .range = field->range ? &*field->range : nullptr,
       .repeats = field->repeats,
       .shows_default = field->shows_default});
}

/// Adds the options of all fields from `first` to `last`, in the order of the list.
template <typename Request>
void AddFieldOptions(Verb& verb, Request& request, std::string_view first, std::string_view last) {
  bool is_inside = false;
  for (const api::Field<Request>& field : api::FieldList<Request>::Get()) {
    is_inside = is_inside || field.name == first;
    if (is_inside) {
      AddFieldOption(verb, request, field.name);
    }
    is_inside = is_inside && field.name != last;
  }
}

}  // namespace orrery::cli
