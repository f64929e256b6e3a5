#include "orrery/simulate/dimension_totals.h"

#include <algorithm>
#include <cstddef>
#include <map>

namespace orrery::simulate {
namespace {

using workload::kNone;
using workload::TaskId;

bool IsAlone(const RankClasses& rank_classes, RankClassId rank_class, std::uint32_t role) {
  const GroupClassId group = rank_classes.GroupOf(rank_class, role);
  return group != workload::kNoGroup && rank_classes.groups[group].num_ranks < 2;
}

std::int64_t ExposedPs(const Breakdown& breakdown, const std::string& dimension) {
  std::int64_t exposed_ps = 0;
  for (const TimeShare& share : breakdown.shares) {
    const bool is_communication =
        share.kind == TimeKind::kTransfer || share.kind == TimeKind::kWait;
    exposed_ps += is_communication && share.what == dimension ? share.ps : 0;
  }
  return exposed_ps;
}

}  // namespace

std::vector<DimensionTotal> DimensionTotals(const RankClasses& rank_classes,
                                            const Timeline& timeline, const Breakdown& breakdown) {
  const workload::Program& program = rank_classes.ProgramOf(breakdown.rank_class);
  const std::size_t first = timeline.First(breakdown.rank_class);
  std::map<std::string, DimensionTotal> totals;
  for (TaskId task = 0; task < program.tasks.size(); ++task) {
    const workload::CommunicationId communication = program.tasks.communication[task];
    if (communication == kNone ||
        IsAlone(rank_classes, breakdown.rank_class, program.communications.role[communication])) {
      continue;
    }
    DimensionTotal& total =
        totals[DimensionOf(program, program.communications.role[communication])];
    const std::int64_t begin_ps = timeline.begin_ps[first + task];
    const std::int64_t moving_ps = std::max(begin_ps, timeline.transfer_ps[first + task]);
    ++total.calls;
    total.bytes += program.communications.bytes[communication];
    total.wait_ps += moving_ps - begin_ps;
    total.transfer_ps += timeline.end_ps[first + task] - moving_ps;
  }
  std::vector<DimensionTotal> sorted;
  for (auto& [dimension, total] : totals) {
    total.dimension = dimension;
    total.exposed_ps = ExposedPs(breakdown, dimension);
    sorted.push_back(total);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const DimensionTotal& lhs, const DimensionTotal& rhs) {
                     return lhs.exposed_ps > rhs.exposed_ps;
                   });
  return sorted;
}

std::int64_t MeanExposedPs(const RankClasses& rank_classes, const Timeline& timeline) {
  const std::vector<std::int64_t> exposed_ps = ExposedPsOfRankClasses(rank_classes, timeline);
  std::int64_t ranks = 0;
  double sum_ps = 0;
  for (std::size_t rank_class = 0; rank_class < rank_classes.classes.size(); ++rank_class) {
    const std::uint32_t multiplicity = rank_classes.classes[rank_class].multiplicity;
    ranks += multiplicity;
    sum_ps += static_cast<double>(exposed_ps[rank_class]) * multiplicity;
  }
  return ranks == 0 ? 0 : static_cast<std::int64_t>(sum_ps / static_cast<double>(ranks));
}

}  // namespace orrery::simulate
