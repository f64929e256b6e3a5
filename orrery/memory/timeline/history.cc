#include "orrery/memory/timeline/history.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/columns.h"
#include "orrery/base/string_table.h"
#include "orrery/memory/timeline/attribution.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::memory::timeline {
namespace {

using trace::MemoryClass;

// Returns the number of a place, adding it if it is new. There are few.
std::uint32_t NumberOf(const Place& place, std::vector<Place>& places) {
  const auto found = std::ranges::find(places, place);
  const auto number = static_cast<std::uint32_t>(found - places.begin());
  if (found == places.end()) {
    places.push_back(place);
  }
  return number;
}

class ObjectReplay {
 public:
  explicit ObjectReplay(const trace::Trace& trace)
      : trace_(trace), objects_(trace.memory_objects) {}

  MemoryHistory Replay() {
    FindHolders();
    for (RowId row = 0; row < objects_.size(); ++row) {
      AddObject(row);
    }
    AddBefore();
    AddReservedTotals();
    SortChanges();
    return std::move(history_);
  }

 private:
  struct Timed {
    enum Turn : std::uint8_t { kFreed, kTaken, kFreedAtBirth };  // among those of one moment

    Change change;
    std::int64_t order = -1;
    Turn turn = kTaken;
  };

  void FindHolders() {
    holds_.resize(objects_.size(), false);
    for (RowId row = 0; row < objects_.size(); ++row) {
      if (objects_.parent[row] != kNoRow) {
        holds_[objects_.parent[row]] = true;
      }
      has_allocator_ |= objects_.memory_class[row] == MemoryClass::kTensor ||
                        objects_.memory_class[row] == MemoryClass::kSegment;
      has_segments_ |= objects_.memory_class[row] == MemoryClass::kSegment;
    }
    has_allocator_ |= !trace_.memory_events.empty();
    first_ns_ = objects_.begin_ns.front();
  }

  [[nodiscard]] std::optional<Layer> LayerOf(RowId row) const {
    switch (objects_.memory_class[row]) {
      case MemoryClass::kTensor:
        return Layer::kAllocated;
      case MemoryClass::kSegment:
        return Layer::kReserved;
      case MemoryClass::kPinned:
        return Layer::kPinned;
      default:
        break;
    }
    if (!has_allocator_) {
      return Layer::kDriver;
    }
    return holds_[row] ? std::nullopt : std::optional(Layer::kOutside);
  }

  void AddObject(RowId row) {
    const std::optional<Layer> layer = LayerOf(row);
    if (!layer || objects_.bytes[row] <= 0) {
      return;
    }
    const bool is_host = *layer == Layer::kPinned;
    const Place place{is_host ? trace::DeviceKind::kCpu : trace::DeviceKind::kGpu,
                      is_host ? -1 : objects_.device[row]};
    const Life life{
        .layer = *layer,
        .place = NumberOf(place, history_.places),
        .begin_ns = objects_.begin_ns[row],
        .end_ns = objects_.duration_ns[row] < 0
                      ? kNeverNs
                      : objects_.begin_ns[row] + objects_.duration_ns[row],
        .bytes = objects_.bytes[row],
        .requested_bytes = objects_.requested_bytes[row],
        .is_from_before = objects_.birth_order[row] < 0 && objects_.begin_ns[row] == first_ns_,
        .object = row,
        .host_op = objects_.host_op[row],
        .name = objects_.name[row],
        .call_stack = objects_.call_stack[row]};
    const auto number = static_cast<std::uint32_t>(history_.lives.size());
    history_.lives.push_back(life);
    AddChanges(life, number);
  }

  void AddChanges(const Life& life, std::uint32_t number) {
    Change change{.time_ns = life.begin_ns,
                  .bytes = life.bytes,
                  .layer = life.layer,
                  .place = life.place,
                  .life = number};
    const std::int64_t birth_order = objects_.birth_order[life.object];
    timed_.push_back({change, birth_order});
    if (life.end_ns != kNeverNs) {
      const bool is_brief = life.end_ns == life.begin_ns;
      const std::int64_t death_order = objects_.death_order[life.object];
      change.time_ns = life.end_ns;
      change.bytes = -life.bytes;
      timed_.push_back({change, is_brief ? std::max(birth_order, death_order) : death_order,
                        is_brief ? Timed::kFreedAtBirth : Timed::kFreed});
    }
  }

  // At the first allocation whose total is known: what is neither new nor an object that lives.
  void AddBefore() {
    const trace::MemoryEvents& events = trace_.memory_events;
    std::vector<bool> is_known;
    for (RowId row = 0; row < events.size(); ++row) {
      if (events.bytes[row] <= 0 || events.total_allocated_bytes[row] < 0) {
        continue;
      }
      const std::uint32_t place = PlaceOfEvent(row);
      is_known.resize(history_.places.size(), false);
      if (is_known[place]) {
        continue;
      }
      is_known[place] = true;
      const std::int64_t before = events.total_allocated_bytes[row] - events.bytes[row] -
                                  AllocatedBefore(place, events.begin_ns[row]);
      if (before > 0) {
        timed_.push_back({{.time_ns = first_ns_, .bytes = before, .place = place}, -1});
      }
    }
  }

  [[nodiscard]] std::int64_t AllocatedBefore(std::uint32_t place, std::int64_t time_ns) const {
    std::int64_t sum = 0;
    for (const Life& life : history_.lives) {
      const bool lives = life.begin_ns < time_ns && life.end_ns >= time_ns;
      sum += lives && life.place == place && life.layer == Layer::kAllocated ? life.bytes : 0;
    }
    return sum;
  }

  void AddReservedTotals() {
    const trace::MemoryEvents& events = trace_.memory_events;
    std::vector<std::int64_t> reserved;
    for (RowId row = 0; row < events.size() && !has_segments_; ++row) {
      if (events.total_reserved_bytes[row] < 0) {
        continue;
      }
      const std::uint32_t place = PlaceOfEvent(row);
      reserved.resize(history_.places.size(), 0);
      const std::int64_t now = events.total_reserved_bytes[row];
      const std::int64_t bytes = now - std::exchange(reserved[place], now);
      if (bytes != 0) {
        timed_.push_back({{.time_ns = events.begin_ns[row],
                           .bytes = bytes,
                           .layer = Layer::kReserved,
                           .place = place},
                          -1,
                          bytes > 0 ? Timed::kTaken : Timed::kFreed});
      }
    }
  }

  std::uint32_t PlaceOfEvent(RowId row) {
    return NumberOf({trace_.memory_events.device_kind[row], trace_.memory_events.device[row]},
                    history_.places);
  }

  void SortChanges() {
    std::ranges::stable_sort(timed_, {}, [](const Timed& timed) {
      return std::tuple(timed.change.time_ns, timed.order, timed.turn);
    });
    for (const Timed& timed : timed_) {
      history_.changes.push_back(timed.change);
    }
  }

  const trace::Trace& trace_;
  const trace::MemoryObjects& objects_;
  std::vector<bool> holds_;
  bool has_allocator_ = false;
  bool has_segments_ = false;
  std::int64_t first_ns_ = 0;
  MemoryHistory history_;
  std::vector<Timed> timed_;
};

// Memory of simulated jobs outside the allocator.
constexpr std::array<std::string_view, 2> kOutsideNames = {"CUDA context", "communication buffers"};

class EventReplay {
 public:
  explicit EventReplay(const trace::Trace& trace)
      : trace_(trace), events_(trace.memory_events), operators_(trace) {}

  MemoryHistory Replay() {
    for (RowId row = 0; row < events_.size(); ++row) {
      ReplayEvent(row);
    }
    for (std::uint32_t place = 0; place < totals_.size(); ++place) {
      AddHeldBefore(place);
    }
    return std::move(history_);
  }

 private:
  struct Totals {
    std::int64_t first_ns = 0;
    bool is_known = false;  // the allocator's total of some event
    std::int64_t sum = 0;   // of all layers but what is reserved
    std::array<std::int64_t, kNumLayers> of_layer = {};
    std::vector<Change> held_before = {};
    std::int64_t assumed = 0;  // of MemoryHistory::assumed_bytes
  };

  void ReplayEvent(RowId row) {
    const Place place{events_.device_kind[row], events_.device[row]};
    const std::uint32_t number = NumberOf(place, history_.places);
    totals_.resize(history_.places.size(), {.first_ns = events_.begin_ns[row]});
    const bool has_address = events_.address[row] != 0;
    const StringId name = NameOf(row);
    const Change change{
        .time_ns = events_.begin_ns[row],
        .bytes = events_.bytes[row],
        .layer = std::ranges::find(kOutsideNames, trace_.Text(name)) != kOutsideNames.end()
                     ? Layer::kOutside
                     : Layer::kAllocated,
        .place = number,
        .life = has_address ? LifeOf(row, number) : kNoLife,
        .name = name};
    AddMissing(change, events_.total_allocated_bytes[row]);
    Add(change);
    NoteTotals(row, number);
  }

  // Names in brackets are the profiler's word for all of them.
  [[nodiscard]] StringId NameOf(RowId row) const {
    const StringId name = events_.name[row];
    return trace_.Text(name).starts_with('[') ? StringId::kEmpty : name;
  }

  void Count(const Change& change) {
    totals_[change.place].sum += change.layer == Layer::kReserved ? 0 : change.bytes;
    totals_[change.place].of_layer[static_cast<std::size_t>(change.layer)] += change.bytes;
  }

  void Add(const Change& change) {
    Count(change);
    if (change.bytes != 0) {
      history_.changes.push_back(change);
    }
  }

  // Adds memory that must exist before a change but was not seen: according to the first total that
  // the allocator reports, and if more is freed than exists. Before that total it is assumed to
  // exist from the beginning.
  void AddMissing(const Change& change, std::int64_t total) {
    Totals& totals = totals_[change.place];
    const std::int64_t held = totals.of_layer[static_cast<std::size_t>(change.layer)];
    const std::int64_t least = std::max(-held, -(held + change.bytes));  // none is negative
    const bool is_by_total = total >= 0 && (!totals.is_known || least > 0);
    const std::int64_t bytes =
        std::max(least, is_by_total ? total - change.bytes - totals.sum : std::int64_t{0});
    Change missing{.time_ns = change.time_ns,
                   .bytes = bytes,
                   .layer = change.layer,
                   .place = change.place,
                   .name = is_by_total ? StringId::kEmpty : change.name};
    const bool is_from_before = !totals.is_known && bytes >= 0;
    if (is_by_total && is_from_before) {
      totals.assumed = 0;  // the total confirms it
    } else if (is_by_total) {
      history_.largest_difference = std::max(history_.largest_difference, std::abs(bytes));
    } else {
      totals.assumed += bytes;
    }
    totals.is_known = totals.is_known || total >= 0;
    if (is_from_before) {
      Count(missing);
      missing.time_ns = totals.first_ns;
      HoldBefore(missing, totals.held_before);
    } else {
      Add(missing);
    }
  }

  // One change for each layer and name.
  static void HoldBefore(const Change& change, std::vector<Change>& held) {
    const auto known = std::ranges::find_if(held, [&](const Change& other) {
      return other.layer == change.layer && other.name == change.name;
    });
    if (known != held.end()) {
      known->bytes += change.bytes;
    } else if (change.bytes > 0) {
      held.push_back(change);
    }
  }

  void NoteTotals(RowId row, std::uint32_t place) {
    Totals& totals = totals_[place];
    if (const std::int64_t total = events_.total_allocated_bytes[row]; total >= 0) {
      history_.largest_difference =
          std::max(history_.largest_difference, std::abs(total - totals.sum));
    }
    if (const std::int64_t reserved = events_.total_reserved_bytes[row]; reserved >= 0) {
      Add({.time_ns = events_.begin_ns[row],
           .bytes = reserved - totals.of_layer[static_cast<std::size_t>(Layer::kReserved)],
           .layer = Layer::kReserved,
           .place = place});
    }
  }

  void AddHeldBefore(std::uint32_t place) {
    const Totals& totals = totals_[place];
    history_.changes.insert(std::ranges::find(history_.changes, place, &Change::place),
                            totals.held_before.begin(), totals.held_before.end());
    history_.assumed_bytes += totals.assumed;
  }

  // Begins a life, or ends the one at the event's address.
  std::uint32_t LifeOf(RowId row, std::uint32_t place) {
    std::uint32_t& alive = alive_.try_emplace({place, events_.address[row]}, kNoLife).first->second;
    if (events_.bytes[row] < 0) {
      const std::uint32_t ended = std::exchange(alive, kNoLife);
      if (ended == kNoLife) {
        ++history_.num_unknown_frees;
      } else {
        history_.lives[ended].end_ns = events_.begin_ns[row];
      }
      return ended;
    }
    alive = static_cast<std::uint32_t>(history_.lives.size());
    history_.lives.push_back(
        {.place = place,
         .begin_ns = events_.begin_ns[row],
         .bytes = events_.bytes[row],
         .host_op = operators_.InnermostAt(events_.track[row], events_.begin_ns[row]),
         .name = NameOf(row)});
    return alive;
  }

  const trace::Trace& trace_;
  const trace::MemoryEvents& events_;
  OperatorIndex operators_;
  MemoryHistory history_;
  std::vector<Totals> totals_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> alive_;  // life by address
};

/// Numbers the places in their order, whatever order they were met in.
void SortPlaces(MemoryHistory& history) {
  std::vector<Place> sorted = history.places;
  std::ranges::sort(sorted, {}, [](const Place& place) {
    return std::pair(place.kind == trace::DeviceKind::kCpu, place);
  });
  std::vector<std::uint32_t> new_number;
  for (const Place& place : history.places) {
    const auto found = std::find(sorted.begin(), sorted.end(), place);
    new_number.push_back(static_cast<std::uint32_t>(found - sorted.begin()));
  }
  for (Life& life : history.lives) {
    life.place = new_number[life.place];
  }
  for (Change& change : history.changes) {
    change.place = new_number[change.place];
  }
  history.places = std::move(sorted);
}

}  // namespace

std::string_view LayerName(Layer layer) {
  constexpr std::array<std::string_view, kNumLayers> kNames{
      "allocated", "reserved", "outside the allocator", "from the driver", "pinned on the host"};
  return kNames[static_cast<std::size_t>(layer)];
}

std::string PlaceName(const Place& place) {
  if (place.kind == trace::DeviceKind::kCpu) {
    return "host";
  }
  const std::string_view kind = place.kind == trace::DeviceKind::kGpu ? "GPU" : "device";
  return place.device < 0 ? std::string(kind) : fmt::format("{} {}", kind, place.device);
}

MemoryHistory HistoryOf(const trace::Trace& trace) {
  MemoryHistory history =
      trace.memory_objects.empty() ? EventReplay(trace).Replay() : ObjectReplay(trace).Replay();
  SortPlaces(history);
  return history;
}

}  // namespace orrery::memory::timeline
