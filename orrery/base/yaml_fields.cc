#include "orrery/base/yaml_fields.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/nearest_word.h"

namespace orrery {
namespace {

std::string Shown(const YAML::Node& node) {
  if (node.IsScalar()) {
    return node.Scalar();
  }
  return node.IsSequence() ? "a list" : node.IsMap() ? "a mapping" : "nothing";
}

std::string Nearest(std::string_view key, std::span<const std::string_view> known) {
  return known.empty() ? std::string()
                       : fmt::format("; the nearest is {}", NearestWord(key, known));
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

bool YamlFields::IsAbsent(std::string_view key) {
  asked_.emplace(key);
  return !Has(key);
}

YAML::Node YamlFields::Node(std::string_view key) {
  if (IsAbsent(key)) {
    Note(key, "is missing");
    return {};
  }
  return node_[std::string(key)];
}

std::string YamlFields::Text(std::string_view key, std::optional<std::string> fallback) {
  if (fallback && IsAbsent(key)) {
    return *std::move(fallback);
  }
  const YAML::Node value = Node(key);
  if (!value.IsScalar() || value.Scalar().empty()) {
    Wrong(key, "must be a text", Shown(value));
    return {};
  }
  return value.Scalar();
}

std::vector<std::string> YamlFields::Texts(std::string_view key,
                                           std::optional<std::vector<std::string>> fallback) {
  if (fallback && IsAbsent(key)) {
    return *std::move(fallback);
  }
  const YAML::Node value = Node(key);
  std::vector<std::string> texts;
  if (!value.IsSequence() || !YAML::convert<std::vector<std::string>>::decode(value, texts)) {
    Wrong(key, "must be a list of texts", Shown(value));
  }
  return texts;
}

std::vector<std::vector<std::string>> YamlFields::WordLists(std::string_view key) {
  const YAML::Node node = Node(key);
  std::vector<std::vector<std::string>> lists;
  bool usable = node.IsSequence();
  for (std::size_t i = 0; usable && i < node.size(); ++i) {
    std::vector<std::string> words;
    usable = YAML::convert<std::vector<std::string>>::decode(node[i], words) && !words.empty();
    lists.push_back(std::move(words));
  }
  if (!usable) {
    Wrong(key, "must be a list of lists of words", "something else");
  }
  return lists;
}

int YamlFields::Count(std::string_view key, int least, std::optional<int> fallback) {
  const std::int64_t count = Size(key, least, fallback);
  if (count > std::numeric_limits<int>::max()) {
    Wrong(key, "must fit 32 bits", std::to_string(count));
    return least;
  }
  return static_cast<int>(count);
}

std::int64_t YamlFields::Size(std::string_view key, std::int64_t least,
                              std::optional<std::int64_t> fallback) {
  if (fallback && IsAbsent(key)) {
    return *fallback;
  }
  const YAML::Node value = Node(key);
  std::int64_t size = 0;
  if (!value.IsScalar() || !YAML::convert<std::int64_t>::decode(value, size) || size < least) {
    Wrong(key, fmt::format("must be a whole number of at least {}", least), Shown(value));
  }
  return size;
}

std::vector<std::int64_t> YamlFields::Sizes(std::string_view key, std::int64_t least,
                                            std::optional<std::vector<std::int64_t>> fallback) {
  if (fallback && IsAbsent(key)) {
    return *std::move(fallback);
  }
  const YAML::Node value = Node(key);
  std::vector<std::int64_t> sizes;
  if (!value.IsSequence() || !YAML::convert<std::vector<std::int64_t>>::decode(value, sizes) ||
      std::ranges::any_of(sizes, [least](std::int64_t size) { return size < least; })) {
    Wrong(key, fmt::format("must be a list of whole numbers of at least {}", least), Shown(value));
  }
  return sizes;
}

double YamlFields::Number(std::string_view key, double least, double fallback) {
  if (IsAbsent(key)) {
    return fallback;
  }
  const YAML::Node value = Node(key);
  double number = fallback;
  if (!value.IsScalar() || !YAML::convert<double>::decode(value, number) ||
      !std::isfinite(number) || number < least) {
    Wrong(key, fmt::format("must be a number of at least {}", least), Shown(value));
  }
  return number;
}

std::vector<double> YamlFields::Numbers(std::string_view key, double least) {
  const YAML::Node value = Node(key);
  std::vector<double> numbers;
  if (!value.IsSequence() || !YAML::convert<std::vector<double>>::decode(value, numbers) ||
      !std::ranges::all_of(numbers, [least](double n) { return std::isfinite(n) && n >= least; })) {
    Wrong(key, fmt::format("must be a list of numbers of at least {}", least), Shown(value));
    numbers.clear();
  }
  return numbers;
}

double YamlFields::Positive(std::string_view key, std::optional<double> fallback) {
  if (fallback && IsAbsent(key)) {
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
  if (IsAbsent(key)) {
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

std::vector<YamlFields> YamlFields::Maps(std::string_view key) {
  const YAML::Node list = Node(key);
  if (!list.IsSequence()) {
    Wrong(key, "must be a list of mappings", Shown(list));
    return {};
  }
  std::vector<YamlFields> maps;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i].IsMap()) {
      Wrong(key, "must be a list of mappings", Shown(list[i]));
    }
    maps.emplace_back(list[i], fmt::format("{}: {} {}", place_, key, i + 1), first_error_);
  }
  return maps;
}

void YamlFields::Expect(std::initializer_list<std::string_view> keys) {
  asked_.insert(keys.begin(), keys.end());
}

void YamlFields::RefuseOthers() {
  if (!node_.IsMap()) {
    return;
  }
  for (const auto& entry : node_) {
    const std::string key = Shown(entry.first);
    if (!asked_.contains(key)) {
      const std::vector<std::string_view> known(asked_.begin(), asked_.end());
      Note(key, fmt::format("is not a field that is known here{}", Nearest(key, known)));
      return;
    }
  }
}

}  // namespace orrery
