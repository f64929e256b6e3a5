#include "orrery/hardware/yaml_fields.h"

#include <cmath>

#include <fmt/core.h>

namespace orrery::hardware {
namespace {

std::string Shown(const YAML::Node& node) {
  return node.IsScalar() ? node.Scalar() : "something that is not one value";
}

}  // namespace

YamlFields::YamlFields(YAML::Node node, std::string place, std::optional<Error>& first_error)
    : node_(std::move(node)), place_(std::move(place)), first_error_(first_error) {}

void YamlFields::Note(std::string_view key, std::string_view problem) {
  if (!first_error_) {
    first_error_.emplace(Error::Kind::kInvalidInput,
                         fmt::format("{}: {} {}", place_, key, problem));
  }
}

void YamlFields::Wrong(std::string_view key, std::string_view expectation, std::string_view found) {
  Note(key, fmt::format("{}, not '{}'", expectation, found));
}

bool YamlFields::Has(std::string_view key) const {
  return node_.IsMap() && node_[std::string(key)].IsDefined();
}

YAML::Node YamlFields::Node(std::string_view key) {
  asked_.emplace(key);
  if (!Has(key)) {
    Note(key, "is missing");
    return {};
  }
  return node_[std::string(key)];
}

std::string YamlFields::Text(std::string_view key, std::optional<std::string> fallback) {
  if (fallback && !Has(key)) {
    asked_.emplace(key);
    return *std::move(fallback);
  }
  const YAML::Node value = Node(key);
  if (!value.IsScalar() || value.Scalar().empty()) {
    Wrong(key, "must be a text", Shown(value));
    return {};
  }
  return value.Scalar();
}

int YamlFields::Count(std::string_view key, int least, std::optional<int> fallback) {
  if (fallback && !Has(key)) {
    asked_.emplace(key);
    return *fallback;
  }
  const YAML::Node value = Node(key);
  int count = 0;
  if (!value.IsScalar() || !YAML::convert<int>::decode(value, count) || count < least) {
    Wrong(key, fmt::format("must be a whole number of at least {}", least), Shown(value));
  }
  return count;
}

double YamlFields::Positive(std::string_view key, std::optional<double> fallback) {
  if (fallback && !Has(key)) {
    asked_.emplace(key);
    return *fallback;
  }
  const YAML::Node value = Node(key);
  double number = 0;
  if (!value.IsScalar() || !YAML::convert<double>::decode(value, number) ||
      !std::isfinite(number) || number <= 0) {
    Wrong(key, "must be a number above 0", Shown(value));
  }
  return number;
}

bool YamlFields::Flag(std::string_view key, bool fallback) {
  asked_.emplace(key);
  if (!Has(key)) {
    return fallback;
  }
  const YAML::Node value = Node(key);
  bool flag = fallback;
  if (!value.IsScalar() || !YAML::convert<bool>::decode(value, flag)) {
    Wrong(key, "must be true or false", Shown(value));
  }
  return flag;
}

YamlFields YamlFields::Map(std::string_view key) {
  const YAML::Node below = Node(key);
  if (!below.IsMap()) {
    Wrong(key, "must be a mapping", Shown(below));
  }
  return {below, fmt::format("{}: {}", place_, key), first_error_};
}

void YamlFields::RefuseOthers() {
  if (!node_.IsMap()) {
    return;
  }
  for (const auto& entry : node_) {
    const std::string key = Shown(entry.first);
    if (!asked_.contains(key)) {
      Note(key, "is not a field that is known here");
      return;
    }
  }
}

}  // namespace orrery::hardware
