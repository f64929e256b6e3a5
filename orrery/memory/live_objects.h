#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <span>

#include "orrery/memory/byte_ranges.h"
#include "orrery/trace/trace.h"

namespace orrery::memory {

/// Lifetimes of objects in the order of events of their process. Objects older than the recording
/// are born first; objects that are never freed live to the end.
class Lifetimes {
 public:
  /// Keeps a reference to the table.
  explicit Lifetimes(const trace::MemoryObjects& objects);

  [[nodiscard]] const trace::MemoryObjects& objects() const { return *objects_; }

  [[nodiscard]] ByteRange RangeOfObject(RowId object) const {
    return RangeOf(objects_->address[object], objects_->bytes[object]);
  }

  /// Born at `order` or before, and freed after it or never.
  [[nodiscard]] bool IsAlive(RowId object, std::int64_t order) const {
    const std::int64_t death = objects_->death_order[object];
    return objects_->birth_order[object] <= order && (death < 0 || death > order);
  }

  /// Returns true if `outer` is alive whenever `inner` is.
  [[nodiscard]] bool LifetimeContains(RowId outer, RowId inner) const;

  /// Returns the objects that contain the object, innermost first.
  [[nodiscard]] std::vector<RowId> Enclosing(RowId object) const;

  /// Rows in order of birth, and freed ones in order of death; ties by row. Objects that die as
  /// they are born are in neither.
  [[nodiscard]] std::span<const RowId> by_birth() const { return by_birth_; }

  [[nodiscard]] std::span<const RowId> by_death() const { return by_death_; }

 private:
  const trace::MemoryObjects* objects_;
  std::vector<RowId> by_birth_;
  std::vector<RowId> by_death_;
};

/// Walks through births and deaths once, for ascending orders.
class LifetimeWalk {
 public:
  explicit LifetimeWalk(const Lifetimes& lifetimes) : lifetimes_(&lifetimes) {}

  /// Calls `born(object)` and `died(object)` up to `order`, in the order of events; an object that
  /// reuses an address comes after the death of the previous one.
  template <typename Born, typename Died>
  void AdvanceTo(std::int64_t order, Born&& born, Died&& died) {
    while (true) {
      const std::int64_t death = NextDeath();
      const std::int64_t birth = NextBirth();
      if (death <= birth && death <= order) {
        died(lifetimes_->by_death()[next_death_++]);
      } else if (birth < death && birth <= order) {
        born(lifetimes_->by_birth()[next_birth_++]);
      } else {
        return;
      }
    }
  }

 private:
  [[nodiscard]] std::int64_t NextBirth() const;
  [[nodiscard]] std::int64_t NextDeath() const;

  const Lifetimes* lifetimes_;
  std::size_t next_birth_ = 0;
  std::size_t next_death_ = 0;
};

/// Classes of memory of a footprint.
enum class FootprintClass : std::uint8_t { kTensor, kSegment, kOther };

inline constexpr std::size_t kNumFootprintClasses = 3;

[[nodiscard]] FootprintClass FootprintClassOf(trace::MemoryClass memory_class);
[[nodiscard]] std::string_view FootprintClassName(FootprintClass footprint_class);

/// Finds the live object that owns an address, for ascending orders: a tensor before its segment, a
/// segment before its allocation. kNoRow for addresses that no object owns.
class ObjectMap {
 public:
  explicit ObjectMap(const Lifetimes& lifetimes) : lifetimes_(&lifetimes), walk_(lifetimes) {}

  void AdvanceTo(std::int64_t order);

  [[nodiscard]] RowId Find(std::uint64_t address) const;

 private:
  // Of several objects at one address, the one that was born last is the last.
  using ByAddress = std::multimap<std::uint64_t, RowId>;

  [[nodiscard]] ByAddress& LevelOf(RowId object);

  const Lifetimes* lifetimes_;
  LifetimeWalk walk_;
  std::array<ByAddress, kNumFootprintClasses> by_level_;  // in the order of FootprintClass
};

/// The objects of a trace in order of address, prepared for many queries. An object's place is its
/// number in this order: bytes in several objects are counted by sorting few small numbers.
class ObjectsByAddress {
 public:
  using Place = std::uint32_t;

  static constexpr Place kNowhere = kNoRow;

  explicit ObjectsByAddress(const Lifetimes& lifetimes);

  /// Returns the place of an object that is alive at `order`; kNowhere for others and for kNoRow.
  [[nodiscard]] Place AliveAt(RowId object, std::int64_t order) const {
    return object != kNoRow && lifetimes_->IsAlive(object, order) ? place_of_[object] : kNowhere;
  }

  [[nodiscard]] const ByteRange& RangeAt(Place place) const { return entries_[place].range; }

  /// Returns the outermost object around it that is alive at `order`; itself if there is none.
  [[nodiscard]] Place OutermostAt(Place place, std::int64_t order) const;

  /// Returns the number of different bytes in the objects. Sorts the places, removes duplicates.
  [[nodiscard]] std::int64_t UnionBytes(std::vector<Place>& places) const;

 private:
  struct Entry {
    ByteRange range;
    Place outermost = kNowhere;  // if it is the same for the object's whole lifetime
    RowId object = kNoRow;
  };

  [[nodiscard]] Place OutermostForLife(RowId object) const;

  const Lifetimes* lifetimes_;
  std::vector<Entry> entries_;   // by place
  std::vector<Place> place_of_;  // by row
};

/// Bytes of live objects. Tensors lie in segments, and segments in allocations of the driver; each
/// class counts its own, and the total counts each byte once.
struct Footprint {
  std::array<std::int64_t, kNumFootprintClasses> class_bytes = {};
  std::int64_t total_bytes = 0;

  [[nodiscard]] std::int64_t Of(FootprintClass footprint_class) const {
    return class_bytes[static_cast<std::size_t>(footprint_class)];
  }

  bool operator==(const Footprint&) const = default;
};

/// Computes the footprint at ascending orders, with a step for each birth and death.
class FootprintWalk {
 public:
  explicit FootprintWalk(const Lifetimes& lifetimes) : lifetimes_(&lifetimes), walk_(lifetimes) {}

  [[nodiscard]] const Footprint& At(std::int64_t order);

 private:
  void Change(RowId object, void (CoveredBytes::*change)(const ByteRange&));

  const Lifetimes* lifetimes_;
  LifetimeWalk walk_;
  std::array<CoveredBytes, kNumFootprintClasses> by_class_;
  CoveredBytes all_;  // without objects that lie in another object for their whole lifetime
  Footprint footprint_;
};

}  // namespace orrery::memory
