#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capture/recorder/settings.h"

namespace orrery::capture::sanitizer {

/// The place where accesses are counted.
enum class Analysis : std::uint8_t {
  kDevice,  // in the patches
  kHost,    // in a thread of the process, from a record of each access: the baseline
};

/// The settings of the launcher.
struct Options {
  Analysis analysis = Analysis::kDevice;
  std::uint64_t page_bytes = 0;  // 0: no pages; else a power of two
  std::string kernel_name;       // only kernels whose name contains it
  std::uint64_t launch_skip = 0;
  std::uint64_t launch_count = 0;  // 0: all
  std::uint64_t block_period = 1;
  bool only_details = false;   // nothing outside orrery.detail
  std::string access_records;  // kernels whose accesses are recorded one by one; empty: none
  std::uint64_t arena_bytes = 256ULL << 20;
  std::uint64_t ring_bytes = 64ULL << 20;
  std::uint32_t num_shards = 8;
  bool stacks = false;                // the call stack of each launch
  bool merge_before_waiting = false;  // if records find no room; see Launches
  bool empty_patch = false;  // patches that do nothing, to measure what patching alone costs

  [[nodiscard]] std::uint32_t page_shift() const;
};

/// Reads ORRERY_CAPTURE_ANALYSIS, _PAGE_BYTES, _KERNEL_NAME, _LAUNCH_SKIP, _LAUNCH_COUNT,
/// _BLOCK_PERIOD, _ONLY_DETAILS, _ACCESS_RECORDS, _ARENA_MB, _RING_MB, _SHARDS, _STACKS,
/// _MERGE and _EMPTY_PATCH. What makes no sense is rounded to what does.
[[nodiscard]] Options OptionsFrom(Environment environment);

/// The same, as it stands in the header of a recording.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> SettingsOf(const Options& options);

inline constexpr std::int64_t kAllPpb = 1'000'000'000;

/// The decision for one launch.
struct Choice {
  const char* skip_reason = nullptr;  // null: it is taken
  std::int64_t inclusion_ppb = kAllPpb;
  std::uint32_t block_period = 1;
  std::uint32_t first_block = 0;
  bool with_access_records = false;

  [[nodiscard]] bool is_taken() const { return skip_reason == nullptr; }
};

/// Says which launches are recorded in detail. While a detail is open (orrery.detail), its rules
/// hold; else those of the options. Modules are patched once whatever it says: a launch that is
/// left out runs with patches that return at once. Any thread may call.
class Selection {
 public:
  explicit Selection(const Options& options) : options_(options) {}

  [[nodiscard]] Choice Choose(std::string_view kernel);

  void OpenDetail(std::uint64_t number, std::string_view kernels, std::uint64_t launches);
  void CloseDetail(std::uint64_t number);

 private:
  struct Detail {
    std::uint64_t number;
    std::string kernels;
    std::uint64_t launches;  // 0: all
    std::uint64_t num_taken;
  };

  [[nodiscard]] const char* ReasonToSkip(std::string_view kernel);
  [[nodiscard]] const char* ReasonByDetails(std::string_view kernel);
  [[nodiscard]] Choice Taken(std::string_view kernel);

  Options options_;
  std::atomic<std::uint64_t> num_matched_{0};  // launches whose name is asked for
  std::atomic<std::uint64_t> num_taken_{0};
  std::atomic<std::uint32_t> num_details_{0};
  std::mutex mutex_;  // guards details_
  std::vector<Detail> details_;
};

}  // namespace orrery::capture::sanitizer
