#include <cstdint>
#include <optional>
#include <string>

#include <fmt/core.h>

#include "orrery/memory/patterns/pattern_search.h"

namespace orrery::memory::patterns {
namespace {

constexpr const char* kLivesOn = "it lives beyond the recording";

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

  void Look(const Use& use) {
    const std::int64_t bytes = uses_.BytesOf(use);
    if (IsLeak(use)) {
      AddLeak(use, bytes);
      return;
    }
    if (use.accesses.empty()) {
      const bool is_known = use.is_freed() && !use.is_from_before();
      search_.Add(Pattern::kUnused, use, bytes, search_.WholeLife(use), is_known ? "" : kLivesOn);
      return;
    }
    LookAtBegin(use, bytes);
    LookAtEnd(use, bytes);
    LookBetween(use, bytes);
  }

 private:
  [[nodiscard]] bool IsLeak(const Use& use) const {
    return last_steps_ns_ && !use.is_freed() && uses_.BirthNs(use) < *last_steps_ns_ &&
           (use.accesses.empty() || uses_.BeginNs(use.accesses.back()) < *last_steps_ns_);
  }

  void AddLeak(const Use& use, std::int64_t bytes) {
    Stretch stretch = search_.WholeLife(use);
    if (!use.accesses.empty()) {
      stretch.begin = use.accesses.back().order + 1;
      stretch.begin_ns = uses_.EndNs(use.accesses.back());
    }
    search_.Add(Pattern::kLeak, use, bytes, stretch).detail =
        fmt::format("steps at the end without an access: {}", search_.options().leak_steps);
  }

  void LookAtBegin(const Use& use, std::int64_t bytes) {
    const Access& first = use.accesses.front();
    if (use.is_from_before() || !search_.FootprintOf(use).IsAnyFreed(use.birth, first.order)) {
      return;
    }
    Stretch stretch = search_.WholeLife(use);
    stretch.end = first.order;
    stretch.end_ns = uses_.BeginNs(first);
    search_.Add(Pattern::kEarlyAllocation, use, bytes, stretch).detail =
        fmt::format("launches, copies and sets before its first access: {}",
                    first.position - PositionOf(use.birth));
  }

  // What is never freed is looked at only if it was born in the recording: parameters are not late.
  void LookAtEnd(const Use& use, std::int64_t bytes) {
    const Access& last = use.accesses.back();
    if ((use.is_from_before() && !use.is_freed()) ||
        !search_.FootprintOf(use).IsAnyBorn(last.order, use.death)) {
      return;
    }
    Stretch stretch = search_.WholeLife(use);
    stretch.begin = last.order + 1;
    stretch.begin_ns = uses_.EndNs(last);
    search_.Add(Pattern::kLateDeallocation, use, bytes, stretch, use.is_freed() ? "" : kLivesOn)
        .detail = fmt::format("launches, copies and sets after its last access: {}",
                              PositionOf(use.death) - last.position - 1);
  }

  void LookBetween(const Use& use, std::int64_t bytes) {
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
        .detail = fmt::format("launches, copies and sets from one access to the next: {}", longest);
  }

  // Of the first work item at an order or after it.
  [[nodiscard]] std::size_t PositionOf(std::int64_t order) const {
    std::size_t low = 0;
    std::size_t high = uses_.work().size();
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      (uses_.work().At(middle).order < order ? low : high) =
          uses_.work().At(middle).order < order ? middle + 1 : middle;
    }
    return low;
  }

  PatternSearch& search_;
  const ObjectUses& uses_;
  std::optional<std::int64_t> last_steps_ns_;
};

}  // namespace

void FindLifePatterns(PatternSearch& search) {
  LifeSearch life(search);
  for (const Use& use : search.uses().all()) {
    if (search.IsLargeEnough(use)) {
      life.Look(use);
    }
  }
}

}  // namespace orrery::memory::patterns
