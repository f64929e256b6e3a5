#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "orrery/base/string_table.h"
#include "orrery/ingest/torch_snapshot/pickle_reader.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::torch_snapshot {

/// A block that was in use when the snapshot was taken.
struct Block {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::int64_t requested_bytes = -1;
  bool is_free_requested = false;  // freed by the program, still in use by a stream
  std::int64_t stream = -1;
  StringId call_stack = StringId::kEmpty;
  StringId name = StringId::kEmpty;
};

/// Memory that the allocator had from the driver.
struct Segment {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::int64_t stream = -1;
  StringId call_stack = StringId::kEmpty;
};

enum class Action : std::uint8_t {
  kAlloc,
  kFreeRequested,
  kFreeCompleted,
  kSegmentAlloc,  // or mapped
  kSegmentFree,   // or unmapped
  kOutOfMemory,
  kSnapshot,
};

/// One entry of the history.
struct Entry {
  Action action = Action::kAlloc;
  std::uint64_t address = 0;  // of kOutOfMemory: bytes that the device had left
  std::uint64_t bytes = 0;    // as the program requested them
  std::int64_t time_ns = 0;
  std::int64_t order = 0;  // among the entries of all devices
  std::int64_t stream = -1;
  StringId call_stack = StringId::kEmpty;
  StringId name = StringId::kEmpty;
};

/// The memory of one device in a snapshot.
struct DeviceMemory {
  std::int32_t device = 0;
  std::vector<Segment> segments;
  std::vector<Block> blocks;
  std::vector<Entry> entries;
};

/// Takes what is known of a pickled snapshot, devices in order. Texts go to the strings of `trace`,
/// what cannot be used to its problems, annotations and settings to its tables.
[[nodiscard]] std::vector<DeviceMemory> ReadSnapshot(const Pickle& pickle, trace::Trace& trace);

/// Microseconds since 1970 as nanoseconds, within what leaves room to add times (the year 2043).
[[nodiscard]] inline std::int64_t NanosecondsOf(std::int64_t time_us) {
  constexpr std::int64_t kLatestUs = (std::int64_t{1} << 61) / 1000;
  return std::clamp<std::int64_t>(time_us, 0, kLatestUs) * 1000;
}

/// Replays the history of a device forwards from what it began with, up to the final state, which
/// it is compared with. Events and marks go to `trace`, objects to `objects` (their `parent` is an
/// index there), what does not fit together to the trace's problems.
void ReplayHistory(const DeviceMemory& memory, trace::Trace& trace,
                   std::vector<trace::MemoryObjects::Row>& objects);

}  // namespace orrery::ingest::torch_snapshot
