#pragma once

#include <cstdint>
#include <limits>

namespace orrery::ingest::nsys {

/// A process of the export: virtual machine and process number, as `globalPid` and `globalTid` hold
/// them above their lowest 24 bits.
using ProcessKey = std::int64_t;

/// Stands for the process of rows that do not name one.
inline constexpr ProcessKey kUnknownProcess = std::numeric_limits<ProcessKey>::min();

[[nodiscard]] constexpr ProcessKey ProcessOf(std::int64_t global_id) {
  return global_id >> 24;
}

[[nodiscard]] constexpr std::int64_t ProcessNumber(ProcessKey process) {
  return process == kUnknownProcess ? 0 : process & 0xFFFFFF;
}

[[nodiscard]] constexpr std::int64_t ThreadNumber(std::int64_t global_tid) {
  return global_tid & 0xFFFFFF;
}

}  // namespace orrery::ingest::nsys
