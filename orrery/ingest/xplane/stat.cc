#include "orrery/ingest/xplane/stat.h"

#include <bit>
#include <iterator>
#include <limits>

#include <fmt/format.h>

#include "orrery/base/decimal.h"
#include "orrery/base/utf8.h"
#include "orrery/ingest/xplane/message.h"

namespace orrery::ingest::xplane {
namespace {

// Numbers of the fields of an XStat.
enum StatField : std::uint32_t {
  kName = 1,
  kDouble = 2,
  kUnsigned = 3,
  kInteger = 4,
  kText = 5,
  kBytes = 6,
  kReference = 7
};

Stat::Type TypeOf(const Field& field) {
  using Type = Stat::Type;
  switch (field.number) {
    case kDouble:
      return field.is_bytes ? Type::kNone : Type::kNumber;
    case kUnsigned:
      return field.is_bytes ? Type::kNone : Type::kUnsigned;
    case kInteger:
      return field.is_bytes ? Type::kNone : Type::kInteger;
    case kReference:
      return field.is_bytes ? Type::kNone : Type::kReference;
    case kText:
      return field.is_bytes ? Type::kText : Type::kNone;
    case kBytes:
      return field.is_bytes ? Type::kBytes : Type::kNone;
    default:
      return Type::kNone;
  }
}

std::string Hexadecimal(std::string_view bytes) {
  std::string digits;
  for (const char byte : bytes) {
    fmt::format_to(std::back_inserter(digits), "{:02x}", static_cast<unsigned char>(byte));
  }
  return digits;
}

std::string_view Lookup(std::int64_t id, const StatNames& names) {
  const auto found = names.find(id);
  return found == names.end() ? std::string_view() : found->second;
}

}  // namespace

Stat ReadStat(std::string_view message) {
  Stat stat;
  MessageReader reader(message);
  while (const auto field = reader.Next()) {
    if (field->number == kName && !field->is_bytes) {
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
  return Lookup(stat.name, names);
}

std::string_view TextOf(const Stat& stat, const StatNames& names) {
  return stat.type == Stat::Type::kReference ? Lookup(static_cast<std::int64_t>(stat.bits), names)
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
      fields.Add(name, Hexadecimal(stat.text));
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
