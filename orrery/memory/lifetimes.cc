#include "orrery/memory/lifetimes.h"

#include <algorithm>
#include <limits>

namespace orrery::memory {
namespace {


constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

}  // namespace

Lifetimes::Lifetimes(const trace::MemoryObjects& objects) : objects_(&objects) {
  for (RowId row = 0; row < objects.size(); ++row) {
    const std::int64_t death = objects.death_order[row];
    if (death >= 0 && death <= objects.birth_order[row]) {
      continue;  // lives at no order
    }
    by_birth_.push_back(row);
    if (death >= 0) {
      by_death_.push_back(row);
    }
  }
  std::ranges::stable_sort(by_birth_, {}, [&](RowId row) { return objects.birth_order[row]; });
  std::ranges::stable_sort(by_death_, {}, [&](RowId row) { return objects.death_order[row]; });
}

bool Lifetimes::IsAlive(RowId object, std::int64_t order) const {
  const std::int64_t death = objects_->death_order[object];
  return objects_->birth_order[object] <= order && (death < 0 || death > order);
}

bool Lifetimes::LivesAround(RowId outer, RowId inner) const {
  const std::int64_t death = objects_->death_order[outer];
  const std::int64_t inner_death = objects_->death_order[inner];
  return objects_->birth_order[outer] <= objects_->birth_order[inner] &&
         (death < 0 || (inner_death >= 0 && inner_death <= death));
}

std::vector<RowId> Lifetimes::AliveAt(std::int64_t order) const {
  std::vector<RowId> alive;
  for (RowId row = 0; row < objects_->size(); ++row) {
    if (IsAlive(row, order)) {
      alive.push_back(row);
    }
  }
  return alive;
}

std::vector<RowId> Lifetimes::Around(RowId object) const {
  std::vector<RowId> around;
  // A damaged file may say that objects lie in each other.
  for (RowId parent = objects_->parent[object];
       parent != kNoRow && around.size() < objects_->size();
       parent = objects_->parent[parent]) {
    around.push_back(parent);
  }
  return around;
}

std::int64_t LifetimeWalk::NextBirth() const {
  const auto& order = lifetimes_->objects().birth_order;
  return next_birth_ < lifetimes_->by_birth().size() ? order[lifetimes_->by_birth()[next_birth_]]
                                                     : kNever;
}

std::int64_t LifetimeWalk::NextDeath() const {
  const auto& order = lifetimes_->objects().death_order;
  return next_death_ < lifetimes_->by_death().size() ? order[lifetimes_->by_death()[next_death_]]
                                                     : kNever;
}

}  // namespace orrery::memory
