#include "orrery/ingest/torch_snapshot/pickle_value.h"

namespace orrery::ingest::torch_snapshot {

using Kind = PickleValue::Kind;

PickleValue PickleData::NewInteger(std::int64_t value) {
  if (value >= 0 && static_cast<std::uint64_t>(value) <= PickleValue::kPayloadMask) {
    return {Kind::kInteger, static_cast<std::uint64_t>(value)};
  }
  wide_.push_back(value);
  return {Kind::kWide, wide_.size() - 1};
}

PickleValue PickleData::NewFloat(double value) {
  floats_.push_back(value);
  return {Kind::kFloat, floats_.size() - 1};
}

PickleValue PickleData::NewText(std::string_view text) {
  return {Kind::kText, static_cast<std::uint64_t>(texts_.Intern(text))};
}

PickleValue PickleData::NewContainer(Kind kind) {
  containers_.emplace_back();
  return {kind, containers_.size() - 1};
}

std::span<const PickleValue> PickleData::List(PickleValue value) const {
  if (value.kind() != Kind::kList) {
    return {};
  }
  return containers_[static_cast<std::size_t>(value.payload())];
}

std::optional<std::int64_t> PickleData::Integer(PickleValue value) const {
  switch (value.kind()) {
    case Kind::kInteger:
      return static_cast<std::int64_t>(value.payload());
    case Kind::kWide:
      return wide_[static_cast<std::size_t>(value.payload())];
    default:
      return std::nullopt;
  }
}

std::optional<std::string_view> PickleData::Text(PickleValue value) const {
  if (value.kind() != Kind::kText) {
    return std::nullopt;
  }
  return texts_.View(static_cast<StringId>(value.payload()));
}

std::optional<PickleValue> PickleData::Find(PickleValue dictionary, std::string_view key) const {
  if (dictionary.kind() != Kind::kDict) {
    return std::nullopt;
  }
  const auto& items = containers_[static_cast<std::size_t>(dictionary.payload())];
  for (std::size_t i = items.size(); i >= 2; i -= 2) {
    if (Text(items[i - 2]) == key) {
      return items[i - 1];
    }
  }
  return std::nullopt;
}

std::vector<std::pair<PickleValue, PickleValue>> PickleData::Pairs(PickleValue dictionary) const {
  std::vector<std::pair<PickleValue, PickleValue>> pairs;
  if (dictionary.kind() == Kind::kDict) {
    const auto& items = containers_[static_cast<std::size_t>(dictionary.payload())];
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      pairs.emplace_back(items[i], items[i + 1]);
    }
  }
  return pairs;
}

std::int64_t PickleData::IntegerAt(PickleValue dictionary, std::string_view key,
                                   std::int64_t otherwise) const {
  const auto value = Find(dictionary, key);
  return value ? Integer(*value).value_or(otherwise) : otherwise;
}

std::string_view PickleData::TextAt(PickleValue dictionary, std::string_view key) const {
  const auto value = Find(dictionary, key);
  return value ? Text(*value).value_or(std::string_view()) : std::string_view();
}

std::span<const PickleValue> PickleData::ListAt(PickleValue dictionary,
                                                std::string_view key) const {
  const auto value = Find(dictionary, key);
  return value ? List(*value) : std::span<const PickleValue>();
}

}  // namespace orrery::ingest::torch_snapshot
