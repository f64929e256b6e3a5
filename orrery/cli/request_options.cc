#include "orrery/cli/request_options.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/fields.h"
#include "orrery/cli/verb.h"

namespace orrery::cli {
namespace {

template <typename Number>
void SetDetails(const OptionDetails& details, Option option) {
  if (details.shows_default) {
    option.ShowDefault();
  }
  if (details.range == nullptr) {
    return;
  }
  const api::FieldRange& range = *details.range;
  if (!std::isfinite(range.most)) {
    range.least > 0 ? option.Positive() : option.NonNegative();
  } else if constexpr (std::is_floating_point_v<Number>) {
    option.Range(range.least, range.most);
  } else {
    option.Range(static_cast<std::int64_t>(range.least), static_cast<std::int64_t>(range.most));
  }
}

struct AddOptionOfTarget {
  Verb& verb;
  const OptionDetails& details;

  void operator()(std::monostate /*none*/) const {}

  void operator()(bool* target) const { verb.AddFlag(details.name, *target, details.doc); }

  void operator()(std::string* target) const {
    Option option = verb.AddOption(details.name, *target, details.doc);
    if (!details.choices.empty()) {
      option.OneOf(details.choices);
    }
    if (details.shows_default) {
      option.ShowDefault(*target);
    }
  }

  void operator()(std::vector<std::string>* target) const {
    Option option = verb.AddOption(details.name, *target, details.doc);
    if (details.repeats) {
      option.OneValueEach();
    }
  }

  void operator()(std::vector<int>* target) const {
    verb.AddOption(details.name, *target, details.doc);
  }

  void operator()(std::vector<double>* target) const {
    Option option = verb.AddOption(details.name, *target, details.doc);
    if (details.repeats) {
      option.OneValueEach();
    }
    SetDetails<double>(details, option);
  }

  template <typename Number>
  void operator()(std::optional<Number>* target) const {
    SetDetails<Number>(details, verb.AddOption(details.name, *target, details.doc));
  }

  template <typename Number>
  void operator()(Number* target) const {
    SetDetails<Number>(details, verb.AddOption(details.name, *target, details.doc));
  }
};

}  // namespace

std::string OptionName(std::string_view field, std::string_view placeholder) {
  std::string name = fmt::format("--{}", field);
  std::ranges::replace(name, '_', '-');
  return placeholder.empty() ? name : fmt::format("{} {}", name, placeholder);
}

void AddTargetOption(Verb& verb, const api::FieldTarget& target, const OptionDetails& details) {
  std::visit(AddOptionOfTarget{verb, details}, target);
}

}  // namespace orrery::cli
