#include "orrery/memory/timeline/object_lives.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "orrery/memory/timeline/place_numbers.h"

namespace orrery::memory::timeline {
namespace {

using trace::MemoryClass;

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
    Change change;
    std::int64_t order = -1;
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
        .end_ns = EndOf(row),
        .bytes = objects_.bytes[row],
        .is_from_before = objects_.birth_order[row] < 0 && objects_.begin_ns[row] == first_ns_,
        .object = row,
        .host_op = objects_.host_op[row],
        .name = objects_.name[row],
        .call_stack = objects_.call_stack[row]};
    const auto number = static_cast<std::uint32_t>(history_.lives.size());
    history_.lives.push_back(life);
    AddChanges(life, number);
  }

  [[nodiscard]] std::int64_t EndOf(RowId row) const {
    return objects_.duration_ns[row] < 0 ? kNeverNs
                                         : objects_.begin_ns[row] + objects_.duration_ns[row];
  }

  void AddChanges(const Life& life, std::uint32_t number) {
    Change change{.time_ns = life.begin_ns,
                  .bytes = life.bytes,
                  .layer = life.layer,
                  .place = life.place,
                  .life = number};
    timed_.push_back({change, objects_.birth_order[life.object]});
    if (life.end_ns != kNeverNs) {
      change.time_ns = life.end_ns;
      change.bytes = -life.bytes;
      timed_.push_back({change, objects_.death_order[life.object]});
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
                          -1});
      }
    }
  }

  std::uint32_t PlaceOfEvent(RowId row) {
    return NumberOf({trace_.memory_events.device_kind[row], trace_.memory_events.device[row]},
                    history_.places);
  }

  void SortChanges() {
    std::stable_sort(timed_.begin(), timed_.end(), [](const Timed& lhs, const Timed& rhs) {
      return std::tuple(lhs.change.time_ns, lhs.order, lhs.change.bytes > 0) <
             std::tuple(rhs.change.time_ns, rhs.order, rhs.change.bytes > 0);
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

}  // namespace

MemoryHistory HistoryOfObjects(const trace::Trace& trace) {
  return ObjectReplay(trace).Replay();
}

}  // namespace orrery::memory::timeline
