#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include <tsl/robin_map.h>

#include "orrery/ingest/orrs/recording.h"
#include "orrery/stream/schema.h"
#include "orrery/trace/enums.h"

namespace orrery::ingest::orrs {

inline constexpr std::size_t kNoLifetime = std::numeric_limits<std::size_t>::max();

/// An allocation from its birth to its death.
struct MemoryLifetime {
  std::uint64_t id = 0;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t level = 0;
  trace::MemoryClass memory_class = trace::MemoryClass::kUnknown;
  std::int64_t birth_order = -1;  // -1: before the recording
  std::int64_t birth_ns = 0;
  std::int64_t death_order = -1;  // -1: never
  std::int64_t death_ns = 0;
  std::int64_t request_order = -1;  // of its free, if that was only requested
  std::int64_t request_ns = 0;
  std::uint64_t device = 0;
  std::uint64_t stream = 0;
  std::uint64_t stack = 0;
  std::uint64_t name = 0;
  std::int64_t requested_bytes = -1;
  std::uint64_t operator_begin = 0;  // the event that opened the operator around it; 0: none
  std::size_t parent = kNoLifetime;
};

/// The memory that is allocated at each address, as events come in order. Memory of several levels
/// (driver, segment, tensor) may share addresses.
class LiveMemory {
 public:
  /// Adds an allocation; it ends one of the same level at its address. The one that contains it is
  /// its parent.
  std::size_t Begin(MemoryLifetime life);

  /// Ends a lifetime and returns it; kNoLifetime, and counted, if it is unknown.
  std::size_t End(const stream::Free& free);

  /// Returns the innermost lifetime that holds `address`, or kNoLifetime.
  [[nodiscard]] std::size_t Find(std::uint64_t address) const {
    return FindBelow(kNumLevels, address);
  }

  /// Returns what a later part of the recording has to know when all events before `end` were
  /// replayed: memory that is allocated, and memory freed since `begin`, which records may still
  /// refer to.
  [[nodiscard]] LiveMemory Survivors(std::uint64_t begin, std::uint64_t end) const;

  /// Ends those whose free was requested and never said to be complete.
  void EndRequested();

  [[nodiscard]] std::vector<MemoryLifetime>& all() { return all_; }

  [[nodiscard]] std::int64_t num_unknown_frees() const { return num_unknown_frees_; }

  [[nodiscard]] std::int64_t num_overwritten() const { return num_overwritten_; }

 private:
  static constexpr std::size_t kNumLevels = 3;

  [[nodiscard]] bool IsAliveAtAddress(std::size_t index) const;
  [[nodiscard]] std::size_t FindBelow(std::size_t level, std::uint64_t address) const;
  [[nodiscard]] std::size_t FindFreed(const stream::Free& free) const;

  std::vector<MemoryLifetime> all_;
  std::array<std::map<std::uint64_t, std::size_t>, kNumLevels> alive_at_address_;
  tsl::robin_map<std::uint64_t, std::size_t> alive_by_id_;
  std::int64_t num_unknown_frees_ = 0;
  std::int64_t num_overwritten_ = 0;
};

/// The memory on both sides of a copy, or of a memset (`destination`).
struct CopyEndpoints {
  std::size_t source = kNoLifetime;
  std::size_t destination = kNoLifetime;
};

/// The state derived from the order of events: the memory allocated at each time, the memory that
/// copies touched, and the operator that was open on the thread of an event.
struct Replay {
  LiveMemory memory;
  std::vector<CopyEndpoints> of_copy;  // by index of the copy
  std::vector<CopyEndpoints> of_set;   // by index of the set
  tsl::robin_map<std::uint64_t, std::uint64_t>
      operator_of_event;                           // both by number; none: not in it
  std::vector<std::uint64_t> open_operators = {};  // at the end, outer ones first; by number
};

/// Replays all events in order of their numbers, whichever chunk they were in. Allocations and
/// frees of tensors also become rows of memory_events. `before`: memory allocated at the begin.
[[nodiscard]] Replay ReplayEvents(Recording& recording, LiveMemory before = {});

}  // namespace orrery::ingest::orrs
