#include "capture/sanitizer/host/options.h"

#include <algorithm>
#include <bit>
#include <string_view>

namespace orrery::capture::sanitizer {
namespace {

// Without pages the device still wants a shift; pages of 64 KiB then.
constexpr std::uint64_t kDefaultPageBytes = 64 << 10;
constexpr std::uint64_t kMinPageBytes = 32;
constexpr std::uint64_t kMaxPageBytes = 1ULL << 30;
constexpr std::uint64_t kMinRingBytes = 1 << 20;

std::string TextFrom(Environment environment, const char* name) {
  const char* const text = environment(name);
  return text == nullptr ? "" : text;
}

std::uint64_t CountFrom(Environment environment, const char* name, std::uint64_t otherwise) {
  const std::int64_t number = NumberFrom(environment, name, static_cast<std::int64_t>(otherwise));
  return number < 0 ? otherwise : static_cast<std::uint64_t>(number);
}

std::uint64_t PageBytesFrom(Environment environment) {
  const std::uint64_t bytes = CountFrom(environment, "ORRERY_CAPTURE_PAGE_BYTES", 0);
  return bytes == 0 ? 0 : std::bit_ceil(std::clamp(bytes, kMinPageBytes, kMaxPageBytes));
}

}  // namespace

std::uint32_t Options::page_shift() const {
  return static_cast<std::uint32_t>(
      std::countr_zero(page_bytes == 0 ? kDefaultPageBytes : page_bytes));
}

Options OptionsFrom(Environment environment) {
  Options options;
  const std::string analysis = TextFrom(environment, "ORRERY_CAPTURE_ANALYSIS");
  options.analysis = analysis == "cpu" ? Analysis::kHost : Analysis::kDevice;
  options.page_bytes = PageBytesFrom(environment);
  options.kernel_name = TextFrom(environment, "ORRERY_CAPTURE_KERNEL_NAME");
  options.launch_skip = CountFrom(environment, "ORRERY_CAPTURE_LAUNCH_SKIP", 0);
  options.launch_count = CountFrom(environment, "ORRERY_CAPTURE_LAUNCH_COUNT", 0);
  options.block_period = std::clamp<std::uint64_t>(
      CountFrom(environment, "ORRERY_CAPTURE_BLOCK_PERIOD", 1), 1, UINT32_MAX);
  options.only_details = CountFrom(environment, "ORRERY_CAPTURE_ONLY_DETAILS", 0) != 0;
  options.access_records = TextFrom(environment, "ORRERY_CAPTURE_ACCESS_RECORDS");
  options.arena_bytes =
      std::max<std::uint64_t>(
          CountFrom(environment, "ORRERY_CAPTURE_ARENA_MB", options.arena_bytes >> 20), 1)
      << 20;
  options.ring_bytes = std::bit_floor(
      std::max(CountFrom(environment, "ORRERY_CAPTURE_RING_MB", options.ring_bytes >> 20) << 20,
               kMinRingBytes));
  options.num_shards = static_cast<std::uint32_t>(std::bit_floor(std::clamp<std::uint64_t>(
      CountFrom(environment, "ORRERY_CAPTURE_SHARDS", options.num_shards), 1, 256)));
  options.stacks = CountFrom(environment, "ORRERY_CAPTURE_STACKS", 0) != 0;
  options.merge_before_waiting = CountFrom(environment, "ORRERY_CAPTURE_MERGE", 0) != 0;
  options.empty_patch = CountFrom(environment, "ORRERY_CAPTURE_EMPTY_PATCH", 0) != 0;
  return options;
}

std::vector<std::pair<std::string, std::string>> SettingsOf(const Options& options) {
  return {{"capture.analysis", options.analysis == Analysis::kHost ? "cpu" : "gpu"},
          {"capture.page_bytes", std::to_string(options.page_bytes)},
          {"capture.kernel_name", options.kernel_name},
          {"capture.launch_skip", std::to_string(options.launch_skip)},
          {"capture.launch_count", std::to_string(options.launch_count)},
          {"capture.block_period", std::to_string(options.block_period)},
          {"capture.access_records", options.access_records},
          {"capture.arena_bytes", std::to_string(options.arena_bytes)},
          {"capture.shards", std::to_string(options.num_shards)},
          {"capture.stacks", options.stacks ? "1" : "0"},
          {"capture.merge", options.merge_before_waiting ? "1" : "0"},
          {"capture.empty_patch", options.empty_patch ? "1" : "0"}};
}

}  // namespace orrery::capture::sanitizer
