#include "orrery/memory/diff/diff.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/memory/recorded_work.h"
#include "orrery/memory/timeline/timeline.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/tables.h"

namespace orrery::memory::diff {
namespace {

void AddItem(const RecordedWork& work, const WorkItem& item, KernelTraffic& traffic) {
  const trace::Touches& touches = work.trace().touches;
  ++traffic.num_launches;
  traffic.time_ns += work.trace().activities.duration_ns[item.activity];
  if (item.coverage != trace::Coverage::kExact) {
    return;
  }
  ++traffic.num_counted;
  for (const RowId touch : item.touches) {
    if (work.IsCounted(touch)) {
      traffic.read_bytes += std::max<std::int64_t>(touches.read_bytes[touch], 0);
      traffic.write_bytes += std::max<std::int64_t>(touches.write_bytes[touch], 0);
    }
  }
}

void AddSide(const trace::Trace& trace, KernelTraffic KernelChange::* side,
             std::map<std::string, KernelChange>& changes) {
  const RecordedWork work(trace);
  work.ForEach([&](const WorkItem& item) {
    if (work.IsKernel(item)) {
      AddItem(work, item, changes[std::string(work.NameOf(item))].*side);
    }
  });
}

/// Sizes at a site: how often before and after.
struct SizesOfSite {
  struct Counts {
    std::int64_t before = 0;
    std::int64_t after = 0;
  };

  SiteChange change;
  std::map<std::int64_t, Counts> by_bytes;
};

using SizesBySite = std::map<std::string, SizesOfSite>;

void AddSide(const PeakSide& side, bool is_after, SizesBySite& sites) {
  for (const timeline::NamedBytes& named : side.timeline->peak.by_site) {
    SiteChange& change = sites[named.name].change;
    (is_after ? change.after_bytes : change.before_bytes) += named.bytes;
  }
  for (const timeline::Owner& owner : side.timeline->peak.owners) {
    auto& counts = sites[owner.site].by_bytes[side.history->lives[owner.life].bytes];
    ++(is_after ? counts.after : counts.before);
  }
}

}  // namespace

std::vector<KernelChange> CompareKernels(const trace::Trace& before, const trace::Trace& after) {
  std::map<std::string, KernelChange> by_name;
  AddSide(before, &KernelChange::before, by_name);
  AddSide(after, &KernelChange::after, by_name);
  std::vector<KernelChange> changes;
  for (auto& [name, change] : by_name) {
    change.name = name;
    changes.push_back(change);
  }
  std::ranges::stable_sort(changes, {}, [](const KernelChange& change) {
    return std::pair(-std::abs(change.TrafficDifference()),
                     -std::abs(change.after.num_launches - change.before.num_launches));
  });
  return changes;
}

std::vector<SiteChange> ComparePeaks(const PeakSide& before, const PeakSide& after) {
  SizesBySite sites;
  AddSide(before, false, sites);
  AddSide(after, true, sites);
  std::vector<SiteChange> changes;
  for (auto& [name, site] : sites) {
    site.change.site = name;
    for (const auto& [bytes, counts] : site.by_bytes) {
      const std::int64_t num_same = std::min(counts.before, counts.after);
      site.change.num_same += num_same;
      site.change.num_only_before += counts.before - num_same;
      site.change.num_only_after += counts.after - num_same;
    }
    changes.push_back(site.change);
  }
  std::ranges::stable_sort(changes, {},
                           [](const SiteChange& change) { return -std::abs(change.Difference()); });
  return changes;
}

}  // namespace orrery::memory::diff
