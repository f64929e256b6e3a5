#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace orrery::capture {

/// The numbering of events.
enum class Ordering : std::uint8_t {
  kCounted,  // 1, 2, 3 … as they are recorded: for recorders that see the host's calls as they
             // happen
  kByTime,   // by the host's clock, so that events that are told of later still find their place
};

struct RecorderSettings {
  std::string path = {};          // of the stream; empty: nothing is recorded
  std::uint64_t limit_bytes = 0;  // recording stops there, 0: never
  std::string producer = "orrery";
  std::string host = {};
  Ordering ordering = Ordering::kCounted;
  std::size_t chunk_bytes = 64 << 10;  // of events, for each thread
};

/// Looks a setting up; null where it is not set.
using Environment = const char* (*)(const char* name);

/// Returns the launcher's settings: ORRERY_CAPTURE_OUT, ORRERY_CAPTURE_LIMIT_MB,
/// ORRERY_CAPTURE_HOST (instead of the machine's name).
[[nodiscard]] RecorderSettings SettingsFrom(Environment environment);

/// The number that a setting holds, or `otherwise`.
[[nodiscard]] std::int64_t NumberFrom(Environment environment, const char* name,
                                      std::int64_t otherwise);

/// The process's own environment.
[[nodiscard]] const char* ProcessEnvironment(const char* name);

}  // namespace orrery::capture
