#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <tsl/robin_map.h>

#include "orrery/ingest/json/json_text.h"

namespace orrery::ingest::xplane {

/// A named value of an event, of a kind of events or of a plane (XStat).
struct Stat {
  enum class Type { kNone, kNumber, kUnsigned, kInteger, kText, kBytes, kReference };

  std::int64_t name = 0;  // id of the name
  Type type = Type::kNone;
  std::uint64_t bits = 0;  // of numbers; the id of the text of a reference
  std::string_view text;
};

/// Reads an XStat.
[[nodiscard]] Stat ReadStat(std::string_view message);

/// The names of a plane's stats by id; texts that repeat are kept here, too.
using StatNames = tsl::robin_map<std::int64_t, std::string_view>;

/// Returns the name of the stat, empty if the plane does not say.
[[nodiscard]] std::string_view NameOf(const Stat& stat, const StatNames& names);

/// Returns the text of the stat; empty if it is a number.
[[nodiscard]] std::string_view TextOf(const Stat& stat, const StatNames& names);

/// Returns the integer that the stat holds, as a number or as text.
[[nodiscard]] std::optional<std::int64_t> IntegerOf(const Stat& stat);

/// Adds the stat under its name ("stat 7" if it has none); bytes become hexadecimal digits.
void AddField(const Stat& stat, const StatNames& names, JsonFields& fields);

/// Returns `text` with U+FFFD in place of what is not UTF-8.
[[nodiscard]] std::string CleanText(std::string_view text);

}  // namespace orrery::ingest::xplane
