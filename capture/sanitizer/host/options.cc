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

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
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

Choice Selection::Choose(std::string_view kernel) {
  if (const char* const reason = ReasonToSkip(kernel)) {
    return {.skip_reason = reason, .inclusion_ppb = 0};
  }
  return Taken(kernel);
}

const char* Selection::ReasonToSkip(std::string_view kernel) {
  if (num_details_.load(std::memory_order_acquire) != 0) {
    return ReasonByDetails(kernel);
  }
  if (options_.only_details) {
    return "outside all details";
  }
  if (!Contains(kernel, options_.kernel_name)) {
    return "kernel name not asked for";
  }
  const std::uint64_t number = num_matched_.fetch_add(1, std::memory_order_relaxed);
  if (number < options_.launch_skip) {
    return "before the first launch asked for";
  }
  if (options_.launch_count != 0 && number - options_.launch_skip >= options_.launch_count) {
    return "after the last launch asked for";
  }
  return nullptr;
}

const char* Selection::ReasonByDetails(std::string_view kernel) {
  const std::lock_guard lock(mutex_);
  bool is_named = false;
  for (Detail& detail : details_) {
    if (!Contains(kernel, detail.kernels)) {
      continue;
    }
    is_named = true;
    if (detail.launches == 0 || detail.num_taken < detail.launches) {
      ++detail.num_taken;
      return nullptr;
    }
  }
  return is_named ? "after the last launch of the detail" : "kernel name not asked for";
}

Choice Selection::Taken(std::string_view kernel) {
  const std::uint64_t number = num_taken_.fetch_add(1, std::memory_order_relaxed);
  // Launches look at different blocks, so that no part of a grid is never seen.
  return {.inclusion_ppb = kAllPpb / static_cast<std::int64_t>(options_.block_period),
          .block_period = static_cast<std::uint32_t>(options_.block_period),
          .first_block = static_cast<std::uint32_t>(number % options_.block_period),
          .with_access_records =
              !options_.access_records.empty() && Contains(kernel, options_.access_records)};
}

void Selection::OpenDetail(std::uint64_t number, std::string_view kernels, std::uint64_t launches) {
  const std::lock_guard lock(mutex_);
  details_.push_back({number, std::string(kernels), launches, 0});
  num_details_.store(static_cast<std::uint32_t>(details_.size()), std::memory_order_release);
}

void Selection::CloseDetail(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  std::erase_if(details_, [&](const Detail& detail) { return detail.number == number; });
  num_details_.store(static_cast<std::uint32_t>(details_.size()), std::memory_order_release);
}

}  // namespace orrery::capture::sanitizer
