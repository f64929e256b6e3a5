#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "orrery/analyze/breakdown/communication_parts.h"
#include "orrery/analyze/fields.h"
#include "orrery/analyze/graph/dependency_graph.h"
#include "orrery/analyze/graph/what_if.h"
#include "orrery/analyze/node_placement.h"
#include "orrery/analyze/straggler/arrivals.h"
#include "orrery/analyze/straggler/segment_use.h"
#include "orrery/analyze/straggler/straggler_cause.h"
#include "orrery/base/collective_kind.h"
#include "orrery/draw/format.h"
#include "orrery/hardware/gpu.h"
#include "orrery/report/run_report.h"
#include "orrery/trace/collective/matched_collectives.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::report {
namespace {

using analyze::RunView;

constexpr std::size_t kMaxCulpritWidth = 60;

// "all-reduce", as people write it.
std::string KindText(CollectiveKind kind) {
  std::string text(CollectiveKindName(kind));
  std::ranges::replace(text, '_', '-');
  return text;
}

CollectivePoint PointOf(const RunView& run, const analyze::CollectiveRecord& record) {
  CollectivePoint point{.kind = KindText(record.kind),
                        .bytes = record.bytes,
                        .bus_bytes_per_second = record.BusBandwidth().value_or(0),
                        .transfer_ns = record.transfer_ns,
                        .duration_ns = record.transfer_ns,
                        .is_matched = record.is_matched,
                        .is_inside_node = analyze::IsInsideNode(run, record)};
  if (!record.is_matched) {
    return point;
  }
  point.duration_ns = 0;
  for (const std::uint32_t member : run.matched.MembersOf(record.instance)) {
    point.waiting_ns += run.waits.wait_ns[member];
    point.duration_ns += run.matched.members.end_ns[member] - run.matched.members.begin_ns[member];
  }
  return point;
}

std::string NameOfDevice(const RunView& run) {
  for (const trace::Trace& trace : run.set->ranks) {
    if (!trace.devices.empty()) {
      return std::string(trace.Text(trace.devices.name[0]));
    }
  }
  return {};
}

// The column of each collective: the first after those of all its members.
class Columns {
 public:
  explicit Columns(std::size_t num_ranks) : next_of_rank_(num_ranks) {}

  std::size_t Take(const RunView& run, std::size_t instance) {
    std::size_t column = 0;
    for (const std::uint32_t member : run.matched.MembersOf(instance)) {
      column = std::max(column, next_of_rank_[run.matched.members.rank_index[member]]);
    }
    for (const std::uint32_t member : run.matched.MembersOf(instance)) {
      next_of_rank_[run.matched.members.rank_index[member]] = column + 1;
    }
    return column;
  }

 private:
  std::vector<std::size_t> next_of_rank_;
};

std::string ColumnLabel(const RunView& run, std::size_t column, std::size_t instance) {
  const std::int64_t bytes = run.matched.instances.bytes[instance];
  return fmt::format("{}: {}{}", column, KindText(run.matched.instances.kind[instance]),
                     bytes > 0 ? ", " + draw::FormatBytes({bytes}) : "");
}

struct PlacedInstance {
  std::size_t instance = 0;
  std::size_t column = 0;
};

std::vector<PlacedInstance> Place(const RunView& run, Arrivals& arrivals) {
  Columns columns(run.set->ranks.size());
  std::vector<PlacedInstance> placed;
  for (std::size_t instance = 0; instance < run.matched.size(); ++instance) {
    if (!(run.Counts(instance) && run.matched.instances.num_members[instance] > 1 &&
          trace::IsSynchronising(run.matched.instances.kind[instance]))) {
      continue;
    }
    const std::size_t column = columns.Take(run, instance);
    placed.push_back({.instance = instance, .column = column});
    if (column == arrivals.collectives.size()) {
      arrivals.collectives.push_back(ColumnLabel(run, column, instance));
    }
  }
  return placed;
}

std::string_view WordsFor(analyze::SegmentUse use) {
  switch (use) {
    case analyze::SegmentUse::kHostWait:
      return "its CPU launches late";
    case analyze::SegmentUse::kCompute:
      return "its kernels take longer";
    case analyze::SegmentUse::kMemory:
      return "its memcpys take longer";
    case analyze::SegmentUse::kOtherGroupWait:
      return "it waits in another group";
    case analyze::SegmentUse::kOtherGroupTransfer:
      return "it communicates in another group";
    case analyze::SegmentUse::kLaunchOverhead:
      return "launches take longer";
    default:
      return "its device idles for another reason";
  }
}

std::string CauseOf(std::int32_t rank, const std::vector<analyze::CauseTotal>& uses,
                    const std::vector<analyze::CauseTotal>& culprits) {
  const auto use = std::ranges::find(uses, rank, &analyze::CauseTotal::rank);
  if (use == uses.end()) {
    return {};
  }
  std::string text =
      fmt::format("{}, {} in all", WordsFor(use->use), draw::FormatDuration({use->excess_ns}));
  const auto culprit = std::ranges::find_if(culprits, [&](const analyze::CauseTotal& total) {
    return total.rank == rank && total.use == use->use;
  });
  if (culprit != culprits.end() && !culprit->culprit.empty()) {
    text += fmt::format(", most in {}", draw::Truncated(culprit->culprit, kMaxCulpritWidth));
  } else if (use->use == analyze::SegmentUse::kHostWait) {
    text += ", busy outside the profile";
  }
  return text;
}

}  // namespace

std::vector<CollectivePoint> CollectivePoints(const RunView& run) {
  std::vector<CollectivePoint> points;
  for (const analyze::CollectiveRecord& record : analyze::CollectiveRecords(run)) {
    points.push_back(PointOf(run, record));
  }
  return points;
}

std::vector<Roof> Roofs(const RunView& run) {
  std::vector<Roof> roofs;
  if (const auto inside = analyze::CardLinkBytesPerSecond(*run.set, /*inside_node=*/true)) {
    roofs.push_back({.label = "link inside a node (card)", .bytes_per_second = *inside});
  }
  if (const auto across = analyze::CardLinkBytesPerSecond(*run.set, /*inside_node=*/false)) {
    roofs.push_back({.label = "link across nodes (card)",
                     .bytes_per_second = *across,
                     .is_across_nodes = true});
  }
  const hardware::Gpu* const gpu = hardware::FindGpu(NameOfDevice(run));
  if (roofs.empty() && gpu != nullptr && gpu->link.bytes_per_second > 0) {
    roofs.push_back({.label = fmt::format("links of {} (data sheet)", gpu->name),
                     .bytes_per_second = gpu->link.bytes_per_second});
  }
  return roofs;
}

const Roof* RoofOf(const CollectivePoint& point, const std::vector<Roof>& roofs) {
  const bool is_across = !point.is_inside_node.value_or(true);
  const auto roof = std::ranges::find(roofs, is_across, &Roof::is_across_nodes);
  return roof == roofs.end() ? nullptr : &*roof;
}

std::optional<ReplayedGains> GainsOf(const RunView& run) {
  const analyze::DependencyGraph& graph = analyze::GraphOf(run);
  if (graph.empty() || graph.path_ns() <= 0) {
    return std::nullopt;
  }
  const auto saved = [&](const analyze::WhatIf& changed) {
    return analyze::SavedShare(run, graph, changed.PathNs());
  };
  const auto ask = [&] { return analyze::WhatIf(run, graph); };
  return ReplayedGains{
      .network =
          saved(ask().SpeedUpNetwork({.speedup = 2, .latency_ns = analyze::KeptLatencyNs(run)})),
      .compute = saved(ask().ScaleActivities({.only_compute = true}, 0.5)),
      .host = saved(ask().ScaleHost(0.5))};
}

std::optional<Arrivals> ArrivalTable(const RunView& run) {
  Arrivals arrivals;
  const std::vector<PlacedInstance> placed = Place(run, arrivals);
  if (placed.empty()) {
    return std::nullopt;
  }
  std::vector<std::size_t> row_of_rank(run.set->ranks.size());
  for (const std::uint32_t place : trace::PlacesInRankOrder(*run.set)) {
    row_of_rank[place] = arrivals.ranks.size();
    arrivals.ranks.push_back(fmt::format("rank {}", trace::RankOf(*run.set, place)));
  }
  arrivals.late_ns.assign(arrivals.ranks.size() * arrivals.collectives.size(), -1);
  for (const auto& [instance, column] : placed) {
    std::int64_t first_ns = run.waits.last_arrival_ns[instance];
    for (const std::uint32_t member : run.matched.MembersOf(instance)) {
      first_ns = std::min(first_ns, run.matched.members.begin_ns[member]);
    }
    for (const std::uint32_t member : run.matched.MembersOf(instance)) {
      const std::size_t row = row_of_rank[run.matched.members.rank_index[member]];
      arrivals.late_ns[row * arrivals.collectives.size() + column] =
          run.matched.members.begin_ns[member] - first_ns;
    }
  }
  return arrivals;
}

std::vector<Straggler> Stragglers(const RunView& run) {
  const std::vector<analyze::LateArrival> arrivals = analyze::ExplainArrivals(run);
  const std::vector<analyze::CauseTotal> uses =
      analyze::TotalCauses(arrivals, /*by_culprit=*/false);
  const std::vector<analyze::CauseTotal> culprits =
      analyze::TotalCauses(arrivals, /*by_culprit=*/true);
  const std::vector<analyze::RankArrivals> ranks =
      analyze::ArrivalsByRank(analyze::CountArrivals(run));
  const std::vector<analyze::SavedTime> saved = analyze::SavedWithoutLateness(run, ranks);
  std::vector<Straggler> stragglers;
  for (const analyze::RankArrivals& rank : ranks) {
    if (rank.times_last > 0) {
      stragglers.push_back({.rank = fmt::format("rank {}", rank.rank),
                            .times_last = rank.times_last,
                            .blame_ns = rank.blame_ns,
                            .gain_ns = rank.gain_ns,
                            .waiting_ns = rank.wait_ns,
                            .cause = CauseOf(rank.rank, uses, culprits)});
    }
  }
  for (std::size_t i = 0; i < saved.size(); ++i) {
    stragglers[i].saved_alone_ns = saved[i].alone_ns;
    stragglers[i].saved_together_ns = saved[i].together_ns;
  }
  return stragglers;
}

}  // namespace orrery::report
