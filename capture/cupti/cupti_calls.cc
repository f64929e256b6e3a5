#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <cupti.h>

#include "capture/cupti/activity_source.h"
#include "capture/cupti/cupti_records.h"
#include "capture/cupti/other_profiler.h"
#include "capture/cupti/redirect.h"
#include "capture/recorder/clock.h"

// The calls of CUPTI that a recording makes; cupti_records.cc knows its structures.

namespace orrery::capture {
namespace {

// CUPTI's callbacks carry no pointer of ours.
std::atomic<BufferOwner*>& Owner() {
  static std::atomic<BufferOwner*> owner{nullptr};
  return owner;
}

void CUPTIAPI RequestBuffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* max_records) {
  *max_records = 0;
  *buffer = Owner().load()->Request(*bytes);
}

void CUPTIAPI CompleteBuffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                             std::size_t /*bytes*/, std::size_t valid_bytes) {
  std::size_t num_dropped = 0;
  static_cast<void>(cuptiActivityGetNumDroppedRecords(context, stream, &num_dropped));
  GiveToOtherProfiler(buffer, valid_bytes);
  Owner().load()->Complete(buffer, valid_bytes, num_dropped);
}

std::uint64_t CUPTIAPI NowForCupti() {
  static const EpochClock clock;
  return static_cast<std::uint64_t>(clock.now_ns());
}

std::string WhyNot(CUptiResult result) {
  if (result == CUPTI_SUCCESS) {
    return {};
  }
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
    return "another profiler or debugger is attached";
  }
  const char* text = nullptr;
  static_cast<void>(cuptiGetResultString(result, &text));
  return text == nullptr ? "error " + std::to_string(result) : std::string(text);
}

template <typename Enable>
void EnableWantedCalls(CUpti_CallbackDomain domain, CUpti_CallbackId num_calls, bool is_on,
                       Enable&& enable) {
  for (CUpti_CallbackId id = 1; id < num_calls; ++id) {
    if (IsWantedCall(NameOfCall(domain, id))) {
      static_cast<void>(enable(id, is_on ? 1 : 0));
    }
  }
}

void Enable(CUpti_ActivityKind kind, bool is_on) {
  static_cast<void>(is_on ? cuptiActivityEnable(kind) : cuptiActivityDisable(kind));
}

void EnableCalls(bool all, bool is_on) {
  if (all) {
    Enable(CUPTI_ACTIVITY_KIND_RUNTIME, is_on);
    Enable(CUPTI_ACTIVITY_KIND_DRIVER, is_on);
    return;
  }
  EnableWantedCalls(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_SIZE, is_on,
                    cuptiActivityEnableRuntimeApi);
  EnableWantedCalls(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_SIZE, is_on,
                    cuptiActivityEnableDriverApi);
}

// Ours hold zeros already; otherwise CUPTI clears each in the middle of a launch.
void SayThatBuffersAreZero() {
  std::uint8_t yes = 1;
  std::size_t bytes = sizeof(yes);
  static_cast<void>(
      cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &bytes, &yes));
}

void EnableManaged() {
  std::vector<CUpti_ActivityUnifiedMemoryCounterConfig> configs;
  for (std::uint32_t kind = 1; kind < kNumManagedCounters; ++kind) {
    configs.push_back({.scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE,
                       .kind = static_cast<CUpti_ActivityUnifiedMemoryCounterKind>(kind),
                       .deviceId = 0,
                       .enable = 1});
  }
  static_cast<void>(cuptiActivityConfigureUnifiedMemoryCounter(
      configs.data(), static_cast<std::uint32_t>(configs.size())));
  static_cast<void>(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER));
}

constexpr std::array kAlwaysCollected = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_DEVICE,  CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMCPY2,           CUPTI_ACTIVITY_KIND_MEMSET,  CUPTI_ACTIVITY_KIND_MEMORY2,
    CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,   CUPTI_ACTIVITY_KIND_OVERHEAD};

// Another profiler asks on any thread, long after the start; CUPTI is the process's, and so is
// this.
std::atomic<bool>& CollectsAllCalls() {
  static std::atomic<bool> all{false};
  return all;
}

bool IsKindOurs(CUpti_ActivityKind kind) {
  const bool is_call = kind == CUPTI_ACTIVITY_KIND_RUNTIME || kind == CUPTI_ACTIVITY_KIND_DRIVER;
  return (is_call && CollectsAllCalls()) ||
         std::find(kAlwaysCollected.begin(), kAlwaysCollected.end(), kind) !=
             kAlwaysCollected.end();
}

class CuptiSource : public ActivitySource {
 public:
  // Kernels are what a recording is for: without them it does not start. Of the rest each goes
  // missing alone. The kernel's numbers of threads are not asked for: they would cost a system call
  // for every call of the program.
  std::string Start(const CollectionOptions& options, BufferOwner& owner) override {
    Owner() = &owner;
    CollectsAllCalls() = options.all_calls;
    SayThatBuffersAreZero();
    static_cast<void>(cuptiActivityRegisterTimestampCallback(NowForCupti));
    if (const std::string why =
            WhyNot(cuptiActivityRegisterCallbacks(RequestBuffer, CompleteBuffer));
        !why.empty()) {
      return why;
    }
    if (const std::string why = WhyNot(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
        !why.empty()) {
      return why;
    }
    if (options.whole_graphs) {
      static_cast<void>(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE));
    }
    if (options.managed) {
      EnableManaged();
    }
    Select(true, true);
    Share();
    return {};
  }

  void Select(bool work, bool calls) override {
    for (const CUpti_ActivityKind kind : kAlwaysCollected) {
      Enable(kind, work);
    }
    EnableCalls(CollectsAllCalls(), calls);
  }

  // A library that was loaded since may hold another profiler.
  void Flush(bool is_last) override {
    Share();
    static_cast<void>(cuptiActivityFlushAll(is_last ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0));
  }

  bool Decode(std::uint8_t* buffer, std::size_t valid_bytes, ActivityReceiver& receiver) override {
    CUpti_Activity* activity = nullptr;
    CUptiResult result = cuptiActivityGetNextRecord(buffer, valid_bytes, &activity);
    while (result == CUPTI_SUCCESS) {
      ShowAny(*activity, receiver);
      result = cuptiActivityGetNextRecord(buffer, valid_bytes, &activity);
    }
    return result == CUPTI_ERROR_MAX_LIMIT_REACHED;
  }

  std::int64_t now_ns() override {
    std::uint64_t now = 0;
    static_cast<void>(cuptiGetTimestamp(&now));
    return static_cast<std::int64_t>(now);
  }

  std::string version() override {
    std::uint32_t version = 0;
    static_cast<void>(cuptiGetVersion(&version));
    return "CUPTI " + std::to_string(version);
  }

 private:
  void Share() {
    if (const auto num_loaded = NumLoadedSoFar(); num_loaded_.exchange(num_loaded) != num_loaded) {
      ShareWithOtherProfiler({.is_kind_ours = IsKindOurs,
                              .enable_calls = [] { EnableCalls(CollectsAllCalls(), true); }});
    }
  }

  std::atomic<unsigned long long> num_loaded_{0};
};

}  // namespace

std::unique_ptr<ActivitySource> MakeCuptiSource() {
  return std::make_unique<CuptiSource>();
}

}  // namespace orrery::capture
