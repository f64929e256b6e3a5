#include "capture/recorder/recorder_api.h"

#include <string_view>
#include <vector>

#include "capture/recorder/process_recorder.h"
#include "orrery/stream/codes.h"

// Exceptions (no memory, mostly) end here: the callers are C, and the target must not notice.

namespace {

using orrery::capture::ProcessRecorder;
namespace stream = orrery::stream;

template <typename Function>
auto Quietly(Function&& function) noexcept -> decltype(function()) {
  try {
    return function();
  } catch (...) {
    return decltype(function())();
  }
}

std::int64_t KnownOrNone(uint64_t number) {
  return number == 0 ? -1 : static_cast<std::int64_t>(number);
}

std::string_view TextOf(const char* text) {
  return text == nullptr ? std::string_view() : text;
}

std::uint64_t NotNegative(int number) {
  return number < 0 ? 0 : static_cast<std::uint64_t>(number);
}

}  // namespace

#define ORRERY_EXPORTED extern "C" __attribute__((visibility("default")))

ORRERY_EXPORTED int orrery_recorder_version(void) {
  return ORRERY_RECORDER_VERSION;
}

ORRERY_EXPORTED void orrery_memory_allocated(int level, uint64_t address, uint64_t bytes,
                                             uint64_t requested, int device, uint64_t stream_number,
                                             uint64_t total_allocated, uint64_t total_reserved) {
  Quietly([&] {
    ProcessRecorder().Allocated({.address = address,
                                 .bytes = bytes,
                                 .level = NotNegative(level),
                                 .device = NotNegative(device),
                                 .stream = stream_number,
                                 .requested_bytes = KnownOrNone(requested),
                                 .total_allocated_bytes = KnownOrNone(total_allocated),
                                 .total_reserved_bytes = KnownOrNone(total_reserved)});
  });
}

ORRERY_EXPORTED void orrery_memory_freed(int level, uint64_t address, int phase, int device,
                                         uint64_t stream_number, uint64_t total_allocated,
                                         uint64_t total_reserved) {
  Quietly([&] {
    ProcessRecorder().Freed({.address = address,
                             .level = NotNegative(level),
                             .phase = NotNegative(phase),
                             .device = NotNegative(device),
                             .stream = stream_number,
                             .total_allocated_bytes = KnownOrNone(total_allocated),
                             .total_reserved_bytes = KnownOrNone(total_reserved)});
  });
}

ORRERY_EXPORTED void orrery_memory_exists(int level, uint64_t address, uint64_t bytes, int device,
                                          uint64_t stream_number) {
  Quietly([&] {
    const std::uint64_t memory_class = level == stream::codes::kTensor
                                           ? stream::codes::kTensorClass
                                           : stream::codes::kSegmentClass;
    ProcessRecorder().Existing({.address = address,
                                .bytes = bytes,
                                .memory_class = memory_class,
                                .device = NotNegative(device),
                                .stream = stream_number},
                               NotNegative(level));
  });
}

ORRERY_EXPORTED void orrery_out_of_memory(uint64_t bytes, int device, uint64_t free_bytes) {
  Quietly([&] {
    ProcessRecorder().Record(
        stream::OutOfMemory{.bytes = bytes,
                            .device = NotNegative(device),
                            .free_bytes = static_cast<std::int64_t>(free_bytes)});
  });
}

ORRERY_EXPORTED uint64_t orrery_operator_begin(const char* name, int64_t sequence, int scope,
                                               uint64_t forward_thread) {
  return Quietly([&] {
    return ProcessRecorder().OperatorBegin(TextOf(name), sequence, NotNegative(scope),
                                           forward_thread);
  });
}

ORRERY_EXPORTED void orrery_operator_end(uint64_t begin) {
  Quietly([&] { ProcessRecorder().OperatorEnd(begin); });
}

ORRERY_EXPORTED uint64_t orrery_region_begin(const char* name) {
  return Quietly([&] { return ProcessRecorder().RegionBegin(TextOf(name)); });
}

ORRERY_EXPORTED void orrery_region_end(uint64_t begin) {
  Quietly([&] { ProcessRecorder().RegionEnd(begin); });
}

ORRERY_EXPORTED void orrery_step(uint64_t number) {
  Quietly([&] { ProcessRecorder().Step(number); });
}

ORRERY_EXPORTED void orrery_python_stack(const char* const* frames, uint64_t count) {
  Quietly([&] {
    ProcessRecorder().PythonStack(std::vector<std::string_view>(frames, frames + count));
  });
}

ORRERY_EXPORTED uint64_t orrery_detail_begin(const char* kernels, uint64_t launches) {
  return Quietly([&] { return ProcessRecorder().DetailBegin(TextOf(kernels), launches); });
}

ORRERY_EXPORTED void orrery_detail_end(uint64_t begin) {
  Quietly([&] { ProcessRecorder().DetailEnd(begin); });
}

ORRERY_EXPORTED void orrery_setting(const char* key, const char* value) {
  Quietly([&] { ProcessRecorder().Setting(TextOf(key), TextOf(value)); });
}

ORRERY_EXPORTED void orrery_collect(int parts) {
  Quietly([&] { ProcessRecorder().Collect(NotNegative(parts)); });
}

ORRERY_EXPORTED void orrery_flush(void) {
  Quietly([] { ProcessRecorder().Flush(); });
}
