#include "orrery/memory/patterns/pattern_search.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

namespace orrery::memory::patterns {
namespace {

double ByteSeconds(std::int64_t bytes, const Stretch& stretch) {
  const std::int64_t length_ns = std::max<std::int64_t>(stretch.end_ns - stretch.begin_ns, 0);
  return static_cast<double>(bytes) * static_cast<double>(length_ns) / 1e9;
}

}  // namespace

PatternSearch::PatternSearch(const ObjectUses& uses, const PatternOptions& options)
    : uses_(&uses), options_(options) {
  for (const Use& use : uses.all()) {
    const std::int32_t device = uses.DeviceOf(use);
    if (!footprint_of_device_.contains(device)) {
      footprint_of_device_.emplace(device, Footprint(uses, device));
    }
  }
}

Stretch PatternSearch::WholeLife(const Use& use) const {
  return {.begin = use.birth,
          .end = use.death,
          .begin_ns = uses_->BirthNs(use),
          .end_ns = uses_->DeathNs(use)};
}

Finding& PatternSearch::Add(Pattern pattern, const Use& use, std::int64_t bytes,
                            const Stretch& stretch, std::string why_not_fact) {
  if (const std::int64_t num_dim = uses_->NumDim(use.birth, use.death); num_dim > 0) {
    why_not_fact = fmt::format("{} launch{} of its life {} not fully seen", num_dim,
                               num_dim == 1 ? "" : "es", num_dim == 1 ? "was" : "were");
  }
  findings_.push_back(
      {.pattern = pattern,
       .object = use.object,
       .bytes = bytes,
       .peak_saved_bytes = FootprintOf(use).Saved(bytes, stretch.begin, stretch.end),
       .byte_seconds_saved = ByteSeconds(bytes, stretch),
       .is_fact = why_not_fact.empty(),
       .why_not_fact = std::move(why_not_fact)});
  return findings_.back();
}

}  // namespace orrery::memory::patterns
