#include "orrery/ingest/xplane/stat.h"

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "orrery/base/document/json_text.h"
#include "orrery/base/lookup.h"
#include "orrery/base/text/decimal.h"
#include "orrery/ingest/json/json_text.h"
#include "orrery/ingest/xplane/message.h"

namespace orrery::ingest::xplane {
namespace {

// By the numbers of the fields of an XStat; 1 is its name.
Stat::Type TypeOf(const Field& field) {
  using enum Stat::Type;
  constexpr std::array kTypes{kNone,    kNone, kNumber, kUnsigned,
                              kInteger, kText, kBytes,  kReference};
  const Stat::Type type = field.number < kTypes.size() ? kTypes[field.number] : kNone;
  return field.is_bytes == (type == kText || type == kBytes) ? type : kNone;
}

}  // namespace

Stat ReadStat(std::string_view message) {
  Stat stat;
  MessageReader reader(message);
  while (const auto field = reader.Next()) {
    if (field->number == 1 && !field->is_bytes) {
      stat.name = field->integer();
    } else if (const Stat::Type type = TypeOf(*field); type != Stat::Type::kNone) {
      stat.type = type;
      stat.bits = field->value;
      stat.text = field->bytes;
    }
  }
  return stat;
}

std::string_view NameOf(const Stat& stat, const StatNames& names) {
  return FindOr(names, stat.name);
}

std::string_view TextOf(const Stat& stat, const StatNames& names) {
  return stat.type == Stat::Type::kReference ? FindOr(names, static_cast<std::int64_t>(stat.bits))
                                             : stat.text;
}

std::optional<std::int64_t> IntegerOf(const Stat& stat) {
  if (stat.type == Stat::Type::kText) {
    return ParseInteger(stat.text);
  }
  const bool is_integer = stat.type == Stat::Type::kInteger || stat.type == Stat::Type::kUnsigned;
  const bool fits =
      stat.type == Stat::Type::kInteger ||
      stat.bits <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return is_integer && fits ? std::optional(static_cast<std::int64_t>(stat.bits)) : std::nullopt;
}

void AddField(const Stat& stat, const StatNames& names, JsonFields& fields) {
  const std::string_view known = NameOf(stat, names);
  const std::string name = known.empty() ? fmt::format("stat {}", stat.name) : CleanText(known);
  switch (stat.type) {
    case Stat::Type::kNone:
      break;
    case Stat::Type::kNumber:
      fields.Add(name, std::bit_cast<double>(stat.bits));
      break;
    case Stat::Type::kUnsigned:
      fields.Add(name, stat.bits);
      break;
    case Stat::Type::kInteger:
      fields.Add(name, static_cast<std::int64_t>(stat.bits));
      break;
    case Stat::Type::kBytes:
      fields.Add(name, fmt::format("{:02x}", fmt::join(std::as_bytes(std::span(stat.text)), "")));
      break;
    case Stat::Type::kText:
    case Stat::Type::kReference:
      fields.Add(name, CleanText(TextOf(stat, names)));
      break;
  }
}

std::string CleanText(std::string_view text) {
  std::string clean;
  while (!text.empty()) {
    const CodePoint first = FirstCodePoint(text);
    clean += first.is_valid ? text.substr(0, first.num_bytes) : kReplacementCharacter;
    text.remove_prefix(first.num_bytes);
  }
  return clean;
}

}  // namespace orrery::ingest::xplane
