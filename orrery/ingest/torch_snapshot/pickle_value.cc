#include "orrery/ingest/torch_snapshot/pickle_value.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/string_table.h"

namespace orrery::ingest::torch_snapshot {

using Kind = PickleValue::Kind;

PickleValue PickleData::NewInteger(std::int64_t value) {
  if (value >= 0 && static_cast<std::uint64_t>(value) <= PickleValue::kPayloadMask) {
    return {Kind::kInteger, static_cast<std::uint64_t>(value)};
  }
  wide_.push_back(value);
  return {Kind::kWide, wide_.size() - 1};
}

PickleValue PickleData::NewText(std::string_view text) {
  return {Kind::kText, static_cast<std::uint64_t>(texts_.Intern(text))};
}

PickleValue PickleData::NewContainer(Kind kind) {
  containers_.emplace_back();
  return {kind, containers_.size() - 1};
}

std::span<const PickleValue> PickleData::List(PickleValue value) const {
  return value.kind() == Kind::kList ? std::span(containers_[value.payload()])
                                     : std::span<const PickleValue>();
}

std::optional<std::int64_t> PickleData::Integer(PickleValue value) const {
  const auto payload = static_cast<std::int64_t>(value.payload());
  return value.kind() == Kind::kInteger ? std::optional(payload)
         : value.kind() == Kind::kWide  ? std::optional(wide_[static_cast<std::size_t>(payload)])
                                        : std::nullopt;
}

std::optional<std::string_view> PickleData::Text(PickleValue value) const {
  return value.kind() == Kind::kText
             ? std::optional(texts_.View(static_cast<StringId>(value.payload())))
             : std::nullopt;
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
  return Integer(Find(dictionary, key).value_or(PickleValue())).value_or(otherwise);
}

std::string_view PickleData::TextAt(PickleValue dictionary, std::string_view key) const {
  return Text(Find(dictionary, key).value_or(PickleValue())).value_or("");
}

std::span<const PickleValue> PickleData::ListAt(PickleValue dictionary,
                                                std::string_view key) const {
  return List(Find(dictionary, key).value_or(PickleValue()));
}

}  // namespace orrery::ingest::torch_snapshot
