#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "orrery/trace/problems.h"

namespace orrery::ingest {

/// Repairs made to JSON text, by kind.
struct JsonRepairs {
  std::int64_t control_characters = 0;  // raw ones in strings: now escaped
  std::int64_t invalid_utf8 = 0;        // now U+FFFD
  std::int64_t lone_surrogates = 0;     // \u escapes without their other half: now U+FFFD
  std::int64_t invalid_escapes = 0;     // such as \x: the backslash is now a character
  std::int64_t non_numbers = 0;         // NaN and infinities as bare words: now null
  std::int64_t stray_commas = 0;        // before a closing bracket or another comma: removed

  [[nodiscard]] bool any() const { return *this != JsonRepairs{}; }

  JsonRepairs& operator+=(const JsonRepairs& other);

  bool operator==(const JsonRepairs&) const = default;
};

/// Rewrites the text of one JSON value without blanks and so that a strict parser accepts it,
/// where the damage is of a kind that profilers produce; counts what it fixed. Valid text comes
/// back as it was (less blanks); damage of other kinds (brackets, quotes) stays for the parser.
[[nodiscard]] std::string RepairJson(std::string_view text, JsonRepairs& repairs);

/// Notes each kind of repair; `first` says where the first one was.
void LogRepairs(const JsonRepairs& repairs, std::string_view first, trace::ProblemLog& problems);

}  // namespace orrery::ingest
