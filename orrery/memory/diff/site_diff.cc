#include "orrery/memory/diff/site_diff.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>

namespace orrery::memory::diff {
namespace {

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
  std::stable_sort(changes.begin(), changes.end(),
                   [](const SiteChange& lhs, const SiteChange& rhs) {
                     return std::abs(lhs.Difference()) > std::abs(rhs.Difference());
                   });
  return changes;
}

}  // namespace orrery::memory::diff
