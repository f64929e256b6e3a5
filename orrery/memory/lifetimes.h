#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "orrery/trace/trace.h"

namespace orrery::memory {

/// When objects live, by the order of events in their process. What was there before the recording
/// is born first; what was never freed lives to the end.
class Lifetimes {
 public:
  /// Keeps a reference to the table.
  explicit Lifetimes(const trace::MemoryObjects& objects);

  [[nodiscard]] const trace::MemoryObjects& objects() const { return *objects_; }

  /// Born at `order` or before, and freed after it or never.
  [[nodiscard]] bool IsAlive(RowId object, std::int64_t order) const;

  /// Whether `outer` lives whenever `inner` does.
  [[nodiscard]] bool LivesAround(RowId outer, RowId inner) const;

  /// All of them, in order of row. Costs a pass; walk with LifetimeWalk where orders ascend.
  [[nodiscard]] std::vector<RowId> AliveAt(std::int64_t order) const;

  /// Returns the objects that the object lies in, innermost first.
  [[nodiscard]] std::vector<RowId> Around(RowId object) const;

  /// Rows in order of birth, and those that are freed in order of death; ties by row. What dies as
  /// it is born is in neither.
  [[nodiscard]] std::span<const RowId> by_birth() const { return by_birth_; }

  [[nodiscard]] std::span<const RowId> by_death() const { return by_death_; }

 private:
  const trace::MemoryObjects* objects_;
  std::vector<RowId> by_birth_;
  std::vector<RowId> by_death_;
};

/// Walks through births and deaths once, for orders that ascend.
class LifetimeWalk {
 public:
  explicit LifetimeWalk(const Lifetimes& lifetimes) : lifetimes_(&lifetimes) {}

  /// Calls `born(object)` and `died(object)` for what happened up to `order`, births and deaths in
  /// the order of events; an object that takes the place of another comes after its death.
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

}  // namespace orrery::memory
