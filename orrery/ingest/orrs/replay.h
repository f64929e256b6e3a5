#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <tsl/robin_map.h>

#include "orrery/ingest/orrs/lives.h"
#include "orrery/ingest/orrs/recording.h"

namespace orrery::ingest::orrs {

/// The memory on the two sides of a copy, or below a set (`destination`).
struct MovedMemory {
  std::size_t source = kNoLife;
  std::size_t destination = kNoLife;
};

/// What follows from the order of events: which memory lived when, what copies touched, and which
/// operator was open on the thread of an event.
struct Replay {
  Lives lives;
  std::vector<MovedMemory> of_copy;  // by index of the copy
  std::vector<MovedMemory> of_set;   // by index of the set
  tsl::robin_map<std::uint64_t, std::uint64_t>
      operator_of_event;                           // both by number; none: not in it
  std::vector<std::uint64_t> open_operators = {};  // at the end, outer ones first; by number
};

/// Plays all events in order of their numbers, whichever chunk they were in. Allocations and frees
/// of tensors also become rows of memory_events. `before`: who lives at the begin.
[[nodiscard]] Replay ReplayEvents(Recording& recording, Lives before = {});

}  // namespace orrery::ingest::orrs
