#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/memory/patterns/pattern_search.h"
#include "orrery/memory/patterns/patterns.h"
#include "orrery/trace/tables.h"

namespace orrery::memory::patterns {
namespace {

constexpr const char* kOutlivesRecording = "it lives beyond the recording";

class LifeSearch {
 public:
  explicit LifeSearch(PatternSearch& search) : search_(search), uses_(search.uses()) {
    const trace::Steps& steps = search.trace().steps;
    const auto num_steps = static_cast<std::int64_t>(steps.size());
    const std::int64_t last = search.options().leak_steps;
    if (last > 0 && num_steps > last) {
      last_steps_ns_ = steps.begin_ns[static_cast<std::size_t>(num_steps - last)];
    }
  }

  void Check(const Use& use) {
    const std::int64_t bytes = uses_.BytesOf(use);
    if (IsLeak(use)) {
      AddLeak(use, bytes);
      return;
    }
    if (use.accesses.empty()) {
      const bool is_known = use.is_freed() && !use.is_from_before();
      search_.Add(Pattern::kUnused, use, bytes, search_.WholeLife(use),
                  is_known ? "" : kOutlivesRecording);
      return;
    }
    CheckBegin(use, bytes);
    CheckEnd(use, bytes);
    CheckIdleness(use, bytes);
  }

 private:
  [[nodiscard]] bool IsLeak(const Use& use) const {
    return last_steps_ns_ && !use.is_freed() && uses_.BirthNs(use) < *last_steps_ns_ &&
           (use.accesses.empty() || uses_.BeginNs(use.accesses.back()) < *last_steps_ns_);
  }

  void AddLeak(const Use& use, std::int64_t bytes) {
    LifetimeInterval interval = search_.WholeLife(use);
    if (!use.accesses.empty()) {
      interval.begin = use.accesses.back().order + 1;
      interval.begin_ns = uses_.EndNs(use.accesses.back());
    }
    search_.Add(Pattern::kLeak, use, bytes, interval).detail =
        fmt::format("steps at the end without an access: {}", search_.options().leak_steps);
  }

  void CheckBegin(const Use& use, std::int64_t bytes) {
    const Access& first = use.accesses.front();
    if (use.is_from_before() || !search_.FootprintOf(use).IsAnyFreed(use.birth, first.order)) {
      return;
    }
    LifetimeInterval interval = search_.WholeLife(use);
    interval.end = first.order;
    interval.end_ns = uses_.BeginNs(first);
    search_.Add(Pattern::kEarlyAllocation, use, bytes, interval).detail =
        fmt::format("launches, memcpys and memsets before its first access: {}",
                    first.position - PositionOf(use.birth));
  }

  // Objects that are never freed count only if they were allocated in the recording: parameters are
  // not freed late.
  void CheckEnd(const Use& use, std::int64_t bytes) {
    const Access& last = use.accesses.back();
    if ((use.is_from_before() && !use.is_freed()) ||
        !search_.FootprintOf(use).IsAnyBorn(last.order, use.death)) {
      return;
    }
    LifetimeInterval interval = search_.WholeLife(use);
    interval.begin = last.order + 1;
    interval.begin_ns = uses_.EndNs(last);
    search_
        .Add(Pattern::kLateDeallocation, use, bytes, interval,
             use.is_freed() ? "" : kOutlivesRecording)
        .detail = fmt::format("launches, memcpys and memsets after its last access: {}",
                              PositionOf(use.death) - last.position - 1);
  }

  void CheckIdleness(const Use& use, std::int64_t bytes) {
    std::size_t longest = 0;
    std::size_t before = 0;
    for (std::size_t i = 1; i < use.accesses.size(); ++i) {
      const std::size_t apart = use.accesses[i].position - use.accesses[i - 1].position;
      if (apart > longest) {
        longest = apart;
        before = i - 1;
      }
    }
    if (static_cast<std::int64_t>(longest) <= search_.options().idle_launches) {
      return;
    }
    const Access& from = use.accesses[before];
    const Access& to = use.accesses[before + 1];
    search_
        .Add(Pattern::kTemporaryIdleness, use, bytes,
             {.begin = from.order + 1,
              .end = to.order,
              .begin_ns = uses_.EndNs(from),
              .end_ns = uses_.BeginNs(to)})
        .detail =
        fmt::format("launches, memcpys and memsets from one access to the next: {}", longest);
  }

  // Of the first work item at an order or after it.
  [[nodiscard]] std::size_t PositionOf(std::int64_t order) const {
    const auto positions = std::views::iota(std::size_t{0}, uses_.work().size());
    return *std::ranges::partition_point(
        positions, [&](std::size_t position) { return uses_.work().At(position).order < order; });
  }

  PatternSearch& search_;
  const ObjectUses& uses_;
  std::optional<std::int64_t> last_steps_ns_;
};

/// Objects after their last access, by device and size.
class IdleObjects {
 public:
  explicit IdleObjects(const ObjectUses& uses) : uses_(uses) {
    for (const Use& use : uses.all()) {
      if (!use.accesses.empty()) {
        by_last_access_.push_back(&use);
      }
    }
    std::ranges::sort(by_last_access_, {}, [](const Use* use) {
      return std::pair(use->accesses.back().order, use->object);
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
  std::ranges::sort(uses, {}, [](const Use* use) { return std::pair(use->birth, use->object); });
  return uses;
}

}  // namespace

void FindLifePatterns(PatternSearch& search) {
  LifeSearch life(search);
  for (const Use& use : search.uses().all()) {
    if (search.IsLargeEnough(use)) {
      life.Check(use);
    }
  }
}

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
    LifetimeInterval interval = search.WholeLife(*use);
    if (other->death < interval.end) {
      interval.end = other->death;
      interval.end_ns = uses.DeathNs(*other);
    }
    std::string why_not_fact = other->is_freed() ? "" : "the idle one lives beyond the recording";
    if (uses.NumPartlyObserved(other->birth, other->death) > 0) {
      why_not_fact = "launches in the life of the idle one were not fully seen";
    }
    search.Add(Pattern::kRedundantAllocation, *use, bytes, interval, std::move(why_not_fact))
        .other = other->object;
  }
}

}  // namespace orrery::memory::patterns
