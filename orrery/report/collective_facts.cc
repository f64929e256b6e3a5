#include "orrery/report/collective_facts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include <fmt/core.h>

#include "orrery/analyze/card_fields.h"
#include "orrery/draw/number_format.h"
#include "orrery/hardware/gpu.h"
#include "orrery/trace/collective_names.h"

namespace orrery::report {
namespace {

using analyze::RunView;
using trace::CollectiveKind;

// What the bandwidth of the slowest link must carry, for each byte of the message (metrics.md 1.5).
double BusFactor(CollectiveKind kind, double num_ranks) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return 2 * (num_ranks - 1) / num_ranks;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kGather:
    case CollectiveKind::kScatter:
      return (num_ranks - 1) / num_ranks;
    default:
      return 1;
  }
}

std::int64_t GroupSizeOf(const RunView& run, std::size_t instance) {
  const std::int64_t members = run.matched.instances.num_members[instance];
  const std::uint32_t group = run.matched.instances.group[instance];
  const std::int64_t declared =
      group < run.matched.groups.size() ? run.matched.groups[group].num_ranks : -1;
  return std::max(members, declared);
}

double BusRate(const RunView& run, std::size_t instance) {
  const std::int64_t transfer_ns = run.waits.transfer_ns[instance];
  const std::int64_t bytes = run.matched.instances.bytes[instance];
  if (bytes <= 0 || transfer_ns <= 0) {
    return 0;
  }
  const double factor = BusFactor(run.matched.instances.kind[instance],
                                  static_cast<double>(GroupSizeOf(run, instance)));
  return factor * Rate({bytes}, {transfer_ns}).bytes_per_second;
}

CollectivePoint PointOf(const RunView& run, std::size_t instance) {
  const trace::MatchedMembers& members = run.matched.members;
  CollectivePoint point{
      .kind = std::string(trace::CollectiveKindName(run.matched.instances.kind[instance])),
      .bytes = run.matched.instances.bytes[instance],
      .bus_bytes_per_second = BusRate(run, instance),
      .transfer_ns = run.waits.transfer_ns[instance]};
  for (const std::uint32_t member : run.matched.MembersOf(instance)) {
    point.waiting_ns += run.waits.wait_ns[member];
    point.duration_ns += members.end_ns[member] - members.begin_ns[member];
  }
  return point;
}

std::string NameOfDevice(const RunView& run) {
  for (const trace::Trace& trace : run.set->ranks) {
    if (trace.devices.size() > 0) {
      return std::string(trace.Text(trace.devices.name[0]));
    }
  }
  return {};
}

bool IsArrival(const RunView& run, std::size_t instance) {
  return run.Counts(instance) && trace::IsSynchronising(run.matched.instances.kind[instance]);
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
  return fmt::format("{}: {}{}", column,
                     trace::CollectiveKindName(run.matched.instances.kind[instance]),
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
    if (!IsArrival(run, instance)) {
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

// The begins of a collective's last and second last member.
struct LatestTwo {
  std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();
  std::int64_t second_ns = std::numeric_limits<std::int64_t>::min();
};

LatestTwo LatestBegins(const RunView& run, std::size_t instance) {
  LatestTwo latest;
  for (const std::uint32_t member : run.matched.MembersOf(instance)) {
    const std::int64_t begin_ns = run.matched.members.begin_ns[member];
    latest.second_ns = std::max(latest.second_ns, std::min(begin_ns, latest.last_ns));
    latest.last_ns = std::max(latest.last_ns, begin_ns);
  }
  return latest;
}

void Blame(const RunView& run, std::size_t instance, std::vector<Straggler>& of_rank) {
  const std::uint32_t last_member = run.waits.last_member[instance];
  Straggler& last = of_rank[run.matched.members.rank_index[last_member]];
  const LatestTwo latest = LatestBegins(run, instance);
  ++last.times_last;
  last.gain_ns += latest.last_ns - latest.second_ns;
  for (const std::uint32_t member : run.matched.MembersOf(instance)) {
    of_rank[run.matched.members.rank_index[member]].waiting_ns += run.waits.wait_ns[member];
    last.blame_ns += member == last_member ? 0 : run.waits.wait_ns[member];
  }
}

}  // namespace

std::vector<CollectivePoint> CollectivePoints(const RunView& run) {
  std::vector<CollectivePoint> points;
  for (std::size_t instance = 0; instance < run.matched.size(); ++instance) {
    if (run.Counts(instance)) {
      points.push_back(PointOf(run, instance));
    }
  }
  return points;
}

std::vector<Roof> Roofs(const RunView& run) {
  std::vector<Roof> roofs;
  if (const auto inside = analyze::CardLinkBytesPerSecond(*run.set, /*inside_node=*/true)) {
    roofs.push_back({.label = "link inside a node (card)", .bytes_per_second = *inside});
  }
  if (const auto across = analyze::CardLinkBytesPerSecond(*run.set, /*inside_node=*/false)) {
    roofs.push_back({.label = "link across nodes (card)", .bytes_per_second = *across});
  }
  const hardware::Gpu* const gpu = hardware::FindGpu(NameOfDevice(run));
  if (roofs.empty() && gpu != nullptr && gpu->link.bytes_per_second > 0) {
    roofs.push_back({.label = fmt::format("links of {} (data sheet)", gpu->name),
                     .bytes_per_second = gpu->link.bytes_per_second});
  }
  return roofs;
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
  std::vector<Straggler> of_rank(run.set->ranks.size());
  for (std::size_t instance = 0; instance < run.matched.size(); ++instance) {
    if (IsArrival(run, instance)) {
      Blame(run, instance, of_rank);
    }
  }
  std::vector<Straggler> stragglers;
  for (const std::uint32_t place : trace::PlacesInRankOrder(*run.set)) {
    if (of_rank[place].times_last > 0) {
      of_rank[place].rank = fmt::format("rank {}", trace::RankOf(*run.set, place));
      stragglers.push_back(of_rank[place]);
    }
  }
  std::ranges::stable_sort(stragglers, std::greater{}, &Straggler::blame_ns);
  return stragglers;
}

}  // namespace orrery::report
