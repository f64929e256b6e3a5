#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "orrery/analyze/breakdown/time_parts.h"
#include "orrery/base/concurrency/parallel.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/explain/breakdown.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/program.h"

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

// On streams, 0 at most.
std::int64_t FirstBeginPs(const RankClasses& rank_classes, const Timeline& timeline,
                          RankClassId rank_class) {
  const workload::Program& program = rank_classes.ProgramOf(rank_class);
  const std::size_t first = timeline.First(rank_class);
  std::int64_t begin_ps = 0;
  for (TaskId task = 0; task < program.tasks.size(); ++task) {
    if (program.lanes.kind[program.tasks.lane[task]] == workload::LaneKind::kStream) {
      begin_ps = std::min(begin_ps, timeline.begin_ps[first + task]);
    }
  }
  return begin_ps;
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
    const DelayedTask* const delayed = timeline.FindDelayed(first + task);
    total.contended_ps += delayed == nullptr ? 0 : delayed->contended_ps;
  }
  std::vector<DimensionTotal> sorted;
  for (auto& [dimension, total] : totals) {
    total.dimension = dimension;
    total.exposed_ps = ExposedPs(breakdown, dimension);
    sorted.push_back(total);
  }
  std::ranges::stable_sort(sorted, std::greater{}, &DimensionTotal::exposed_ps);
  return sorted;
}

RankMeans MeansOf(const RankClasses& rank_classes, const Timeline& timeline) {
  std::vector<RankMeans> of_class(rank_classes.classes.size());
  ParallelFor(of_class.size(), 0, [&](std::size_t i) {
    const auto rank_class = static_cast<RankClassId>(i);
    // A rank that ended the step before earlier than others waits in its first message before 0.
    const std::int64_t begin_ps = FirstBeginPs(rank_classes, timeline, rank_class);
    for (const TimeSlice& slice : SlicesOf(rank_classes, timeline, rank_class, begin_ps)) {
      of_class[i].exposed_ps += slice.communicates ? slice.end_ps - slice.begin_ps : 0;
      of_class[i].bubble_ps +=
          slice.kind == TimeKind::kBubble
              ? std::max<std::int64_t>(slice.end_ps, 0) - std::max<std::int64_t>(slice.begin_ps, 0)
              : 0;
    }
  });
  double ranks = 0;
  double exposed_ps = 0;
  double bubble_ps = 0;
  for (std::size_t i = 0; i < of_class.size(); ++i) {
    const std::uint32_t multiplicity = rank_classes.classes[i].multiplicity;
    ranks += multiplicity;
    exposed_ps += static_cast<double>(of_class[i].exposed_ps) * multiplicity;
    bubble_ps += static_cast<double>(of_class[i].bubble_ps) * multiplicity;
  }
  return ranks == 0 ? RankMeans{}
                    : RankMeans{.exposed_ps = static_cast<std::int64_t>(exposed_ps / ranks),
                                .bubble_ps = static_cast<std::int64_t>(bubble_ps / ranks)};
}

}  // namespace orrery::simulate
