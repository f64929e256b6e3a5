#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "capture/recorder/settings.h"

namespace orrery::capture::sanitizer {

/// Where accesses become counts.
enum class Analysis : std::uint8_t {
  kDevice,  // in the patches
  kHost,    // in a thread of the process, from a record of each access: the baseline
};

/// What the launcher asks for.
struct Options {
  Analysis analysis = Analysis::kDevice;
  std::uint64_t page_bytes = 0;  // 0: no pages; else a power of two
  std::string kernel_name;       // only kernels whose name contains it
  std::uint64_t launch_skip = 0;
  std::uint64_t launch_count = 0;  // 0: all
  std::uint64_t block_period = 1;
  bool only_details = false;   // nothing outside of orrery.detail
  std::string access_records;  // kernels whose accesses are recorded one by one; empty: none
  std::uint64_t arena_bytes = 256ULL << 20;
  std::uint64_t ring_bytes = 64ULL << 20;
  std::uint32_t num_shards = 8;
  bool stacks = false;                // where each launch was asked for
  bool merge_before_waiting = false;  // where records find no room; see Launches
  bool empty_patch = false;  // patches that do nothing, to measure what patching alone costs

  [[nodiscard]] std::uint32_t page_shift() const;
};

/// Reads ORRERY_CAPTURE_ANALYSIS, _PAGE_BYTES, _KERNEL_NAME, _LAUNCH_SKIP, _LAUNCH_COUNT,
/// _BLOCK_PERIOD, _ONLY_DETAILS, _ACCESS_RECORDS, _ARENA_MB, _RING_MB, _SHARDS, _STACKS,
/// _MERGE and _EMPTY_PATCH. What makes no sense is rounded to what does.
[[nodiscard]] Options OptionsFrom(Environment environment);

/// The same, as it stands in the header of a recording.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> SettingsOf(const Options& options);

}  // namespace orrery::capture::sanitizer
