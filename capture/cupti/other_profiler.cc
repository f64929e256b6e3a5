#include "capture/cupti/other_profiler.h"

#include <array>
#include <cstring>
#include <mutex>
#include <set>
#include <vector>

#include "capture/cupti/redirect.h"
#include "capture/cupti/shared_clock.h"
#include "capture/recorder/clock.h"

namespace orrery::capture {
namespace {

std::int64_t Now() {
  static const EpochClock clock;
  return clock.now_ns();
}

/// The other profiler, as CUPTI would see it.
struct Other {
  std::mutex mutex;  // guards all below
  OwnNeeds needs;
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  CUpti_TimestampCallbackFunc now = nullptr;
  SharedClock clock;
  std::set<CUpti_ActivityKind> kinds;  // that it collects
  std::set<CUpti_ActivityKind> asked;  // likewise, until it restarts: its last flush comes after
                                       // it has disabled all
  std::uint64_t since_ns = 0;          // when it began
  bool is_recording = false;
  // Always one that is asked for: it takes records only from buffers it handed out, and believes
  // that there are none while it has handed out nothing.
  std::uint8_t* buffer = nullptr;
  std::size_t buffer_bytes = 0;
};

Other& TheOther() {
  static auto* const other = new Other;
  return *other;
}

void RequestNext(Other& other) {
  std::size_t max_records = 0;
  other.buffer = nullptr;
  other.buffer_bytes = 0;
  other.request(&other.buffer, &other.buffer_bytes, &max_records);
}

CUptiResult CUPTIAPI OnRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                         CUpti_BuffersCallbackCompleteFunc complete) {
  Other& other = TheOther();
  const std::lock_guard lock(other.mutex);
  const bool is_new = other.request != request || other.buffer == nullptr;
  other.request = request;
  other.complete = complete;
  if (is_new) {
    RequestNext(other);
  }
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI OnRegisterTimestamp(CUpti_TimestampCallbackFunc now) {
  Other& other = TheOther();
  const std::lock_guard lock(other.mutex);
  other.now = now;
  if (now != nullptr) {
    other.clock.Begin(Now(), now());
  }
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI OnEnable(CUpti_ActivityKind kind) {
  Other& other = TheOther();
  {
    const std::lock_guard lock(other.mutex);
    if (other.kinds.empty()) {
      other.asked.clear();
      other.since_ns = static_cast<std::uint64_t>(Now());
    }
    other.kinds.insert(kind);
    other.asked.insert(kind);
    other.is_recording = true;
  }
  return cuptiActivityEnable(kind);
}

CUptiResult CUPTIAPI OnDisable(CUpti_ActivityKind kind) {
  Other& other = TheOther();
  OwnNeeds needs;
  {
    const std::lock_guard lock(other.mutex);
    other.kinds.erase(kind);
    needs = other.needs;
  }
  if (needs.is_kind_ours(kind)) {
    return CUPTI_SUCCESS;
  }
  const CUptiResult result = cuptiActivityDisable(kind);
  if (kind == CUPTI_ACTIVITY_KIND_RUNTIME || kind == CUPTI_ACTIVITY_KIND_DRIVER) {
    needs.enable_calls();
  }
  return result;
}

// After its last flush it takes no more records.
CUptiResult CUPTIAPI OnFlushAll(std::uint32_t flags) {
  const CUptiResult result = cuptiActivityFlushAll(flags);
  Other& other = TheOther();
  const std::lock_guard lock(other.mutex);
  if (other.kinds.empty()) {
    other.is_recording = false;
  }
  return result;
}

// Would end our recording too.
CUptiResult CUPTIAPI OnFinalize() {
  return CUPTI_SUCCESS;
}

/// Begin and end of a record.
struct Times {
  std::uint64_t* start = nullptr;  // null: it has none
  std::uint64_t* end = nullptr;
};

template <typename Record>
Times TimesIn(CUpti_Activity& activity) {
  auto& record = reinterpret_cast<Record&>(activity);
  return {&record.start, &record.end};
}

Times TimesOf(CUpti_Activity& activity) {
  switch (activity.kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return TimesIn<CUpti_ActivityKernel10>(activity);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return TimesIn<CUpti_ActivityMemcpy6>(activity);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return TimesIn<CUpti_ActivityMemcpyPtoP4>(activity);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return TimesIn<CUpti_ActivityMemset4>(activity);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return TimesIn<CUpti_ActivityAPI>(activity);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return TimesIn<CUpti_ActivitySynchronization2>(activity);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return TimesIn<CUpti_ActivityOverhead3>(activity);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
      return TimesIn<CUpti_ActivityGraphTrace2>(activity);
    default:
      return {};
  }
}

/// Returns false for activities that began before the other profiler did, and for kinds that only
/// this recorder requested.
bool IsForOther(const Other& other, CUpti_Activity& activity) {
  const Times times = TimesOf(activity);
  const bool is_too_old = times.start != nullptr && *times.start < other.since_ns;
  return !is_too_old &&
         (other.asked.contains(activity.kind) || !other.needs.is_kind_ours(activity.kind));
}

/// Leaves only the other's records in the buffer, with times on its clock; returns their bytes.
std::size_t KeepForOther(const Other& other, std::uint8_t* buffer, std::size_t valid_bytes) {
  std::vector<std::uint8_t*> begins;
  CUpti_Activity* activity = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid_bytes, &activity) == CUPTI_SUCCESS) {
    begins.push_back(reinterpret_cast<std::uint8_t*>(activity));
  }
  begins.push_back(buffer + valid_bytes);
  std::uint8_t* end = buffer;
  for (std::size_t record = 0; record + 1 < begins.size(); ++record) {
    auto& kept = reinterpret_cast<CUpti_Activity&>(*begins[record]);
    if (!IsForOther(other, kept)) {
      continue;
    }
    if (const Times times = TimesOf(kept); times.start != nullptr && other.now != nullptr) {
      *times.start = other.clock.TheirTime(*times.start);
      *times.end = other.clock.TheirTime(*times.end);
    }
    const auto bytes = static_cast<std::size_t>(begins[record + 1] - begins[record]);
    std::memmove(end, begins[record], bytes);
    end += bytes;
  }
  return static_cast<std::size_t>(end - buffer);
}

}  // namespace

void ShareWithOtherProfiler(const OwnNeeds& needs) {
  {
    const std::lock_guard lock(TheOther().mutex);
    TheOther().needs = needs;
  }
  const std::array redirections = {
      Redirection{"cuptiActivityRegisterCallbacks", reinterpret_cast<void*>(&OnRegisterCallbacks)},
      Redirection{"cuptiActivityRegisterTimestampCallback",
                  reinterpret_cast<void*>(&OnRegisterTimestamp)},
      Redirection{"cuptiActivityEnable", reinterpret_cast<void*>(&OnEnable)},
      Redirection{"cuptiActivityDisable", reinterpret_cast<void*>(&OnDisable)},
      Redirection{"cuptiActivityFlushAll", reinterpret_cast<void*>(&OnFlushAll)},
      Redirection{"cuptiFinalize", reinterpret_cast<void*>(&OnFinalize)}};
  // Neither CUPTI's own calls nor ours.
  const std::array<const void*, 2> except = {reinterpret_cast<const void*>(&cuptiGetVersion),
                                             reinterpret_cast<const void*>(&OnFinalize)};
  RedirectCalls(redirections, except);
}

void GiveToOtherProfiler(const std::uint8_t* buffer, std::size_t valid_bytes) {
  Other& other = TheOther();
  const std::lock_guard lock(other.mutex);
  if (!other.is_recording || other.buffer == nullptr || valid_bytes == 0 ||
      valid_bytes > other.buffer_bytes) {
    return;
  }
  std::uint8_t* const filled = other.buffer;
  const std::size_t filled_bytes = other.buffer_bytes;
  std::memcpy(filled, buffer, valid_bytes);
  if (other.now != nullptr) {
    other.clock.Update(Now(), other.now());
  }
  const std::size_t kept_bytes = KeepForOther(other, filled, valid_bytes);
  if (kept_bytes == 0) {
    return;
  }
  RequestNext(other);
  other.complete(nullptr, 0, filled, filled_bytes, kept_bytes);
}

}  // namespace orrery::capture
