#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "orrery/network/fair_filling.h"
#include "orrery/simulate/engine/overlap_rates.h"
#include "orrery/simulate/engine/pending_collectives.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/network/link_sharing.h"
#include "orrery/workload/program.h"

// State of lanes, GPUs and transfers in a simulation in order of time.

namespace orrery::simulate {

// Rates are whole parts of full speed and work is counted in picoseconds times such parts, so that
// the result does not depend on how often progress is updated.
inline constexpr std::int64_t kFullRate = 1 << 16;

// Transfers count in smaller parts: a link may leave very little to one of many.
inline constexpr std::int64_t kPartsOfRate = 1 << 16;
inline constexpr std::int64_t kFullTransferRate = kFullRate * kPartsOfRate;

__extension__ using Work128 = __int128;  // 64 bits hold 140 s of work

using TransferId = std::uint32_t;

inline constexpr TransferId kNoTransfer = 0xFFFFFFFF;
inline constexpr network::FlowRow kNoFlow = 0xFFFFFFFF;

/// Work that advances at a rate.
struct Progress {
  Work128 left = 0;
  std::int64_t settled_ps = 0;
  std::int64_t rate = 0;
  std::uint32_t version = 0;  // ends of older versions do not count

  void Start(std::int64_t now_ps, std::int64_t duration_ps, std::int64_t full_rate = kFullRate) {
    left = static_cast<Work128>(duration_ps) * full_rate;
    settled_ps = now_ps;
    rate = 0;
  }

  // Goes on at another rate and returns when it ends.
  std::int64_t Change(std::int64_t now_ps, std::int64_t new_rate) {
    left -= static_cast<Work128>(now_ps - settled_ps) * rate;
    settled_ps = now_ps;
    rate = new_rate;
    ++version;
    return now_ps + Quotient(left + rate - 1, rate);
  }

 private:
  // Dividing 128 bits takes 20 times as long, and few need it.
  static std::int64_t Quotient(Work128 work, std::int64_t rate) {
    if (rate == kFullRate) {
      return static_cast<std::int64_t>(std::min<Work128>(work / kFullRate, 2 * kLongestPs));
    }
    if (work <= std::numeric_limits<std::int64_t>::max()) {
      return static_cast<std::int64_t>(work) / rate;
    }
    return static_cast<std::int64_t>(std::min<Work128>(work / rate, 2 * kLongestPs));
  }
};

enum class EventKind : std::uint8_t { kArrival, kRoom, kEnd, kTransferBegin, kTransferEnd };

struct Event {
  std::int64_t at_ps = 0;
  std::uint64_t order = 0;
  std::uint32_t subject = 0;  // a lane or a transfer
  std::uint32_t version = 0;
  EventKind kind = EventKind::kEnd;

  bool operator>(const Event& other) const {
    return at_ps != other.at_ps ? at_ps > other.at_ps : order > other.order;
  }
};

/// The task of a lane on its GPU.
struct Occupant {
  RunningTask task = {};
  Progress progress = {};  // of communication only the rate
  std::int64_t duration_ps = 0;
  std::int64_t arrived_ps = 0;
  std::int64_t entered_ps = 0;
  TransferId transfer = kNoTransfer;
  std::uint32_t num_arrivals = 0;  // room that an older arrival was to get does not count
  bool has_room = false;
};

/// Communication whose members have all arrived.
struct TransferState {
  GroupClassId group = 0;
  workload::Communications::Row row = {};
  LaneIndex first_lane = kNoLane;         // none: traffic beside the programs
  const TransferUses* traffic = nullptr;  // of it
  TransferCost cost = {};
  std::uint32_t num_missing = 0;  // members that have no room yet
  bool is_due = false;            // all members have arrived
  std::int64_t begun_ps = 0;
  Progress progress = {};
  std::int64_t slowest = 0;       // rate of a member
  std::uint32_t num_slowest = 0;  // members with that rate
  bool must_count = false;        // the two above are not known
  bool is_dirty = false;
  network::FlowRow flow = kNoFlow;  // on shared links
  std::int64_t own_rate = 0;        // that it would have with its links to itself
  std::int64_t contended_ps = 0;    // lost to others on them, until `progress.settled_ps`

  // Goes on at another rate and returns when it ends.
  std::int64_t Change(std::int64_t now_ps, std::int64_t new_own_rate, std::int64_t new_rate) {
    AddContended(now_ps);
    own_rate = new_own_rate;
    return progress.Change(now_ps, new_rate);
  }

  void AddContended(std::int64_t now_ps) {
    if (progress.rate < own_rate) {
      contended_ps += static_cast<std::int64_t>(static_cast<Work128>(now_ps - progress.settled_ps) *
                                                (own_rate - progress.rate) / own_rate);
    }
  }

  // Takes note of a member whose rate changes.
  void Update(std::int64_t old_rate, std::int64_t new_rate) {
    if (new_rate < slowest) {
      slowest = new_rate;
      num_slowest = 1;
      return;
    }
    num_slowest += new_rate == slowest ? 1 : 0;
    if (old_rate == slowest && --num_slowest == 0) {
      must_count = true;
    }
  }
};

/// Tasks that run on the GPU of a rank class, and tasks that wait for room on it.
struct GpuState {
  std::vector<LaneIndex> running;  // ascending
  std::vector<LaneIndex> queued;   // those that have arrived and have no room yet
  bool is_dirty = false;
};

}  // namespace orrery::simulate
