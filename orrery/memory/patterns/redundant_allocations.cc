#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "orrery/memory/patterns/pattern_search.h"

namespace orrery::memory::patterns {
namespace {

/// Objects after their last access, by device and size.
class IdleObjects {
 public:
  explicit IdleObjects(const ObjectUses& uses) : uses_(uses) {
    for (const Use& use : uses.all()) {
      if (!use.accesses.empty()) {
        by_last_access_.push_back(&use);
      }
    }
    std::sort(by_last_access_.begin(), by_last_access_.end(), [](const Use* lhs, const Use* rhs) {
      return std::tuple(lhs->accesses.back().order, lhs->object) <
             std::tuple(rhs->accesses.back().order, rhs->object);
    });
  }

  /// Takes the smallest idle object that has room for `use` and is at most `most_bytes` large.
  const Use* Take(const Use& use, std::int64_t most_bytes) {
    AdvanceTo(use.birth);
    const std::int32_t device = uses_.DeviceOf(use);
    auto found = idle_.lower_bound({device, uses_.BytesOf(use)});
    while (found != idle_.end() && found->first.first == device &&
           found->first.second <= most_bytes) {
      const Use* const candidate = found->second;
      found = idle_.erase(found);
      if (candidate->death > use.birth) {
        return candidate;
      }
    }
    return nullptr;
  }

 private:
  void AdvanceTo(std::int64_t order) {
    while (next_ < by_last_access_.size() &&
           by_last_access_[next_]->accesses.back().order < order) {
      const Use* const use = by_last_access_[next_++];
      idle_.emplace(std::pair(uses_.DeviceOf(*use), uses_.BytesOf(*use)), use);
    }
  }

  const ObjectUses& uses_;
  std::vector<const Use*> by_last_access_;
  std::size_t next_ = 0;
  std::multimap<std::pair<std::int32_t, std::int64_t>, const Use*> idle_;
};

std::vector<const Use*> InOrderOfBirth(const PatternSearch& search) {
  std::vector<const Use*> uses;
  for (const Use& use : search.uses().all()) {
    if (!use.is_from_before() && search.IsLargeEnough(use)) {
      uses.push_back(&use);
    }
  }
  std::sort(uses.begin(), uses.end(), [](const Use* lhs, const Use* rhs) {
    return std::tuple(lhs->birth, lhs->object) < std::tuple(rhs->birth, rhs->object);
  });
  return uses;
}

}  // namespace

void FindRedundantAllocations(PatternSearch& search) {
  const ObjectUses& uses = search.uses();
  IdleObjects idle(uses);
  for (const Use* const use : InOrderOfBirth(search)) {
    const std::int64_t bytes = uses.BytesOf(*use);
    const auto most_bytes = static_cast<std::int64_t>(static_cast<double>(bytes) *
                                                      (1 + search.options().similar_percent / 100));
    const Use* const other = idle.Take(*use, most_bytes);
    if (other == nullptr) {
      continue;
    }
    Stretch stretch = search.WholeLife(*use);
    if (other->death < stretch.end) {
      stretch.end = other->death;
      stretch.end_ns = uses.DeathNs(*other);
    }
    std::string why_not_fact = other->is_freed() ? "" : "the idle one lives beyond the recording";
    if (uses.NumDim(other->birth, other->death) > 0) {
      why_not_fact = "launches in the life of the idle one were not fully seen";
    }
    search.Add(Pattern::kRedundantAllocation, *use, bytes, stretch, std::move(why_not_fact)).other =
        other->object;
  }
}

}  // namespace orrery::memory::patterns
