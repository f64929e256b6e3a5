#include "orrery/workload/recorded/phase_ranges.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

namespace orrery::workload {
namespace {

std::optional<Phase> PhaseNamed(std::string_view name) {
  if (name == "forward") {
    return Phase::kForward;
  }
  if (name == "backward") {
    return Phase::kBackward;
  }
  return name == "optimizer" ? std::optional(Phase::kOptimizer) : std::nullopt;
}

}  // namespace

PhaseRanges::PhaseRanges(const trace::Trace& recording, std::int64_t begin_ns,
                         std::int64_t end_ns) {
  std::map<Phase, std::int32_t> counts;
  for (RowId row = 0; row < recording.annotations.size(); ++row) {
    const std::int64_t at_ns = recording.annotations.begin_ns[row];
    const std::optional<Phase> phase = PhaseNamed(recording.Text(recording.annotations.name[row]));
    if (!phase || recording.annotations.kind[row] != trace::AnnotationKind::kHost ||
        at_ns < begin_ns || at_ns >= end_ns) {
      continue;
    }
    const std::int32_t microbatch = *phase == Phase::kOptimizer ? -1 : counts[*phase]++;
    ranges_.push_back(
        {at_ns, at_ns + recording.annotations.duration_ns[row], {*phase, microbatch}});
  }
}

PhaseAt PhaseRanges::At(std::int64_t at_ns) const {
  auto range = std::ranges::upper_bound(ranges_, at_ns, {}, &Range::begin_ns);
  while (range != ranges_.begin()) {
    --range;
    if (at_ns < range->end_ns) {
      return range->phase;
    }
  }
  return {};
}

}  // namespace orrery::workload
