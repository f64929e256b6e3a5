#include "orrery/memory/patterns/patterns.h"

#include <algorithm>
#include <tuple>

#include "orrery/memory/patterns/object_use.h"
#include "orrery/memory/patterns/pattern_search.h"
#include "orrery/memory/recorded_work.h"

namespace orrery::memory::patterns {
namespace {

auto Rank(const Finding& finding) {
  return std::tuple(-finding.peak_saved_bytes, -finding.byte_seconds_saved,
                    -finding.traffic_saved_bytes, finding.object, finding.pattern, finding.other);
}

}  // namespace

PatternReport FindPatterns(const trace::Trace& trace, const PatternOptions& options) {
  const RecordedWork work(trace);
  const ObjectUses uses(work);
  PatternSearch search(uses, options);
  FindLifePatterns(search);
  FindRedundantAllocations(search);
  FindWritePatterns(search);
  FindPagePatterns(search);
  PatternReport report{.findings = search.TakeFindings(),
                       .num_objects = static_cast<std::int64_t>(uses.all().size())};
  for (const Use& use : uses.all()) {
    report.peak_bytes = std::max(report.peak_bytes, search.FootprintOf(use).peak_bytes());
  }
  std::sort(report.findings.begin(), report.findings.end(),
            [](const Finding& lhs, const Finding& rhs) { return Rank(lhs) < Rank(rhs); });
  return report;
}

}  // namespace orrery::memory::patterns
