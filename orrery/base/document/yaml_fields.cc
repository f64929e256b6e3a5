#include "orrery/base/document/yaml_fields.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/error.h"
#include "orrery/base/text/nearest_word.h"

namespace orrery {
namespace {

std::string Shown(const YAML::Node& node) {
  if (node.IsScalar()) {
    return node.Scalar();
  }
  return node.IsSequence() ? "a list" : node.IsMap() ? "a mapping" : "nothing";
}

// The value of a field that can be decoded and is valid, else reports `expectation`.
template <typename T, typename IsValid>
T ReadValue(YamlFields& fields, std::string_view key, std::optional<T> fallback,
            const std::string& expectation, const IsValid& is_valid) {
  fields.Expect({key});
  if (fallback && !fields.Has(key)) {
    return *std::move(fallback);
  }
  const YAML::Node value = fields.Node(key);
  T decoded{};
  if (!YAML::convert<T>::decode(value, decoded) || !is_valid(decoded)) {
    fields.Wrong(key, expectation, Shown(value));
    return {};
  }
  return decoded;
}

constexpr auto kAnyValue = [](const auto&) { return true; };

}  // namespace

YamlFields::YamlFields(YAML::Node node, std::string place, std::optional<Error>& first_error)
    : node_(node), place_(std::move(place)), first_error_(first_error) {}

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
  return ReadValue(*this, key, std::move(fallback), "must be a string",
                   [](const std::string& text) { return !text.empty(); });
}

std::vector<std::string> YamlFields::Texts(std::string_view key,
                                           std::optional<std::vector<std::string>> fallback) {
  return ReadValue(*this, key, std::move(fallback), "must be a list of texts", kAnyValue);
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
  return ReadValue(*this, key, fallback,
                   fmt::format("must be a whole number of at least {}", least),
                   [least](std::int64_t size) { return size >= least; });
}

std::vector<std::int64_t> YamlFields::Sizes(std::string_view key, std::int64_t least,
                                            std::optional<std::vector<std::int64_t>> fallback) {
  return ReadValue(*this, key, std::move(fallback),
                   fmt::format("must be a list of whole numbers of at least {}", least),
                   [least](const std::vector<std::int64_t>& sizes) {
                     return std::ranges::all_of(sizes, [=](auto size) { return size >= least; });
                   });
}

double YamlFields::Number(std::string_view key, double least, double fallback) {
  return ReadValue(*this, key, std::optional(fallback),
                   fmt::format("must be a number of at least {}", least),
                   [least](double number) { return std::isfinite(number) && number >= least; });
}

std::vector<double> YamlFields::Numbers(std::string_view key, double least) {
  return ReadValue(*this, key, std::optional<std::vector<double>>(),
                   fmt::format("must be a list of numbers of at least {}", least),
                   [least](const std::vector<double>& numbers) {
                     return std::ranges::all_of(
                         numbers, [=](double n) { return std::isfinite(n) && n >= least; });
                   });
}

double YamlFields::Positive(std::string_view key, std::optional<double> fallback) {
  return ReadValue(*this, key, fallback, "must be a number above 0",
                   [](double number) { return std::isfinite(number) && number > 0; });
}

bool YamlFields::Flag(std::string_view key, bool fallback) {
  return ReadValue(*this, key, std::optional(fallback), "must be true or false", kAnyValue);
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
      const std::string nearest =
          known.empty() ? "" : fmt::format("; the nearest is {}", NearestWord(key, known));
      Note(key, fmt::format("is not a field that is known here{}", nearest));
      return;
    }
  }
}

}  // namespace orrery
