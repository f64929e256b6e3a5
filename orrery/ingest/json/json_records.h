#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/ingest/input_file.h"
#include "orrery/trace/problems.h"

namespace orrery::ingest {

/// Some fields of a JSON object: the text of their values, valid JSON without blanks, by key.
using JsonRecord = std::map<std::string, std::string, std::less<>>;

/// Reads a file of JSON objects, one or many, each on a line of its own or not, and keeps the
/// fields named in `keys`; of equal keys the last counts. An object that is truncated gives the
/// fields before the cut, text that is no object is a loss.
[[nodiscard]] Result<std::vector<JsonRecord>> ReadJsonRecords(
    const InputFile& file, std::span<const std::string_view> keys, trace::ProblemLog& problems);

/// Returns the number that a field holds.
[[nodiscard]] std::optional<double> NumberIn(const JsonRecord& record, std::string_view key);

/// Returns the integer that a field holds; 12.0 counts as 12.
[[nodiscard]] std::optional<std::int64_t> IntegerIn(const JsonRecord& record, std::string_view key);

/// Returns whether the first JSON object in the head of a file has all of `keys` at its top level.
[[nodiscard]] bool HeadHasKeys(std::string_view head, std::span<const std::string_view> keys);

}  // namespace orrery::ingest
