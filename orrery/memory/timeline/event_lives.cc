#include "orrery/memory/timeline/event_lives.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include <tsl/robin_map.h>

#include "orrery/memory/timeline/operator_index.h"
#include "orrery/memory/timeline/place_numbers.h"

namespace orrery::memory::timeline {
namespace {


// What simulated jobs hold beside the allocator.
constexpr std::array<std::string_view, 2> kOutsideNames = {"CUDA context", "communication buffers"};

bool IsOutside(std::string_view name) {
  return std::find(kOutsideNames.begin(), kOutsideNames.end(), name) != kOutsideNames.end();
}

class EventReplay {
 public:
  explicit EventReplay(const trace::Trace& trace)
      : trace_(trace), events_(trace.memory_events), operators_(trace) {}

  MemoryHistory Replay() {
    for (RowId row = 0; row < events_.size(); ++row) {
      ReplayEvent(row);
    }
    return std::move(history_);
  }

 private:
  struct Totals {
    bool is_known = false;
    std::int64_t sum = 0;  // of all changes, whatever their layer
    std::int64_t reserved = 0;
  };

  void ReplayEvent(RowId row) {
    const Place place{events_.device_kind[row], events_.device[row]};
    const std::uint32_t number = NumberOf(place, history_.places);
    totals_.resize(history_.places.size());
    NoteBefore(row, number);
    const bool has_address = events_.address[row] != 0;
    const StringId name = NameOf(row);
    Add({.time_ns = events_.begin_ns[row],
         .bytes = events_.bytes[row],
         .layer = IsOutside(trace_.Text(name)) ? Layer::kOutside : Layer::kAllocated,
         .place = number,
         .life = has_address ? LifeOf(row, number) : kNoLife,
         .name = name});
    NoteTotals(row, number);
  }

  // Names in brackets are the profiler's word for all of them.
  [[nodiscard]] StringId NameOf(RowId row) const {
    const StringId name = events_.name[row];
    return trace_.Text(name).starts_with('[') ? StringId::kEmpty : name;
  }

  void Add(const Change& change) {
    if (change.bytes != 0) {
      history_.changes.push_back(change);
    }
  }

  void NoteBefore(RowId row, std::uint32_t place) {
    Totals& totals = totals_[place];
    if (totals.is_known || events_.total_allocated_bytes[row] < 0) {
      return;
    }
    totals.is_known = true;
    const std::int64_t before =
        events_.total_allocated_bytes[row] - events_.bytes[row] - totals.sum;
    totals.sum += before;
    Add({.time_ns = events_.begin_ns[row], .bytes = before, .place = place});
  }

  void NoteTotals(RowId row, std::uint32_t place) {
    Totals& totals = totals_[place];
    totals.sum += events_.bytes[row];
    if (const std::int64_t total = events_.total_allocated_bytes[row]; total >= 0) {
      history_.largest_difference =
          std::max(history_.largest_difference, std::abs(total - totals.sum));
    }
    if (const std::int64_t reserved = events_.total_reserved_bytes[row]; reserved >= 0) {
      Add({.time_ns = events_.begin_ns[row],
           .bytes = reserved - std::exchange(totals.reserved, reserved),
           .layer = Layer::kReserved,
           .place = place});
    }
  }

  // Begins a life, or ends the one at the event's address.
  std::uint32_t LifeOf(RowId row, std::uint32_t place) {
    auto& alive = alive_[{place, events_.address[row]}];
    if (events_.bytes[row] < 0) {
      const std::uint32_t ended = std::exchange(alive, Alive{}).life;
      if (ended == kNoLife) {
        ++history_.num_unknown_frees;
      } else {
        history_.lives[ended].end_ns = events_.begin_ns[row];
      }
      return ended;
    }
    const auto life = static_cast<std::uint32_t>(history_.lives.size());
    history_.lives.push_back(
        {.place = place,
         .begin_ns = events_.begin_ns[row],
         .bytes = events_.bytes[row],
         .host_op = operators_.InnermostAt(events_.track[row], events_.begin_ns[row]),
         .name = NameOf(row)});
    alive.life = life;
    return life;
  }

  struct Alive {
    std::uint32_t life = kNoLife;
  };

  const trace::Trace& trace_;
  const trace::MemoryEvents& events_;
  OperatorIndex operators_;
  MemoryHistory history_;
  std::vector<Totals> totals_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, Alive> alive_;
};

}  // namespace

MemoryHistory HistoryOfEvents(const trace::Trace& trace) {
  return EventReplay(trace).Replay();
}

}  // namespace orrery::memory::timeline
