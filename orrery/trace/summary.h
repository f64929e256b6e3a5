#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/trace/trace.h"

namespace orrery::trace {

struct NamedCount {
  std::string_view name;  // as in the JSON of `orrery info`
  std::int64_t count = 0;
};

/// The number of rows of each kind of a rank, the most important first. Operators of an
/// execution trace without Kineto rows are its operator nodes. Collectives are those that ran on
/// the device; where none did (no device, or no peers) they are the calls.
[[nodiscard]] std::vector<NamedCount> CountRows(const Trace& trace);

/// The name of the device that the rank worked on, or of all of them; empty if unknown.
[[nodiscard]] std::string DeviceName(const Trace& trace);

}  // namespace orrery::trace
