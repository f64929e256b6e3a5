#include "capture/sanitizer/host/selection.h"

#include <algorithm>

namespace orrery::capture::sanitizer {
namespace {

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

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
    return "outside of all details";
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
