#include "orrery/analyze/breakdown/communication_parts.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/analyze/breakdown/time_parts.h"
#include "orrery/analyze/fields.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/base/text/number_list.h"
#include "orrery/base/text/text.h"
#include "orrery/trace/collective/collective_lanes.h"
#include "orrery/trace/collective/matched_collectives.h"
#include "orrery/trace/kernel_class.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::analyze {
namespace {

using enum Dimension;

// Tells `add(key, ns, sharers)` how long each key was active, and with how many.
template <typename Add>
void ShareTime(const std::vector<IntervalSet>& sets, Add&& add) {
  struct Edge {
    std::int64_t time_ns;
    std::size_t key;
    bool begins;
  };

  std::vector<Edge> edges;
  for (std::size_t key = 0; key < sets.size(); ++key) {
    for (const Interval& interval : sets[key].intervals()) {
      edges.push_back({interval.begin_ns, key, true});
      edges.push_back({interval.end_ns, key, false});
    }
  }
  std::ranges::sort(edges, [](const Edge& a, const Edge& b) {
    return a.time_ns != b.time_ns ? a.time_ns < b.time_ns : a.key < b.key;
  });
  std::vector<std::size_t> active;
  std::int64_t since_ns = 0;
  for (const Edge& edge : edges) {
    for (const std::size_t key : active) {
      add(key, edge.time_ns - since_ns, active.size());
    }
    since_ns = edge.time_ns;
    if (edge.begins) {
      active.push_back(edge.key);
    } else {
      std::erase(active, edge.key);
    }
  }
}

std::vector<IntervalSet> SetsByKey(const std::vector<CommunicationPart>& parts,
                                   const std::vector<std::size_t>& key_of_part,
                                   std::size_t num_keys,
                                   Interval (*interval_of)(const CommunicationPart&)) {
  std::vector<std::vector<Interval>> intervals(num_keys);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    intervals[key_of_part[i]].push_back(interval_of(parts[i]));
  }
  std::vector<IntervalSet> sets;
  for (const auto& of_key : intervals) {
    sets.push_back(IntervalSet::Of(of_key));
  }
  return sets;
}

std::vector<IntervalSet> Without(std::vector<IntervalSet> sets, const IntervalSet& hidden) {
  for (IntervalSet& set : sets) {
    set = Difference(set, hidden);
  }
  return sets;
}

struct DescriptionPattern {
  std::string_view needle;  // in the lower-case description
  Dimension dimension;
};

// Joined names first: "tensor_and_data" must not become tensor.
constexpr std::array kDescriptions{
    DescriptionPattern{"_and_", kJoint},
    DescriptionPattern{"with_context_parallel", kJoint},
    DescriptionPattern{"with_cp", kJoint},
    DescriptionPattern{"all_ranks", kJoint},
    DescriptionPattern{"tensor_model_parallel", kTensor},
    DescriptionPattern{"tensor_parallel", kTensor},
    DescriptionPattern{"mesh_tp", kTensor},
    DescriptionPattern{"pipeline", kPipeline},
    DescriptionPattern{"mesh_pp", kPipeline},
    DescriptionPattern{"embedding_group", kPipeline},
    DescriptionPattern{"context_parallel", kContext},
    DescriptionPattern{"mesh_cp", kContext},
    DescriptionPattern{"expert", kExpert},
    DescriptionPattern{"mesh_ep", kExpert},
    DescriptionPattern{"data_parallel", kData},
    DescriptionPattern{"mesh_dp", kData},
    DescriptionPattern{"mesh_fsdp", kData},
    DescriptionPattern{"mesh_dp_shard", kData},
    DescriptionPattern{"mesh_dp_replicate", kData},
};

std::optional<Dimension> FromText(std::string_view text) {
  const std::string lower = LowerCase(text);
  for (const DescriptionPattern& pattern : kDescriptions) {
    if (lower.find(pattern.needle) != std::string::npos) {
      return pattern.dimension;
    }
  }
  return std::nullopt;
}

std::optional<Dimension> FromDescription(const trace::Trace& trace, RowId group) {
  const auto from_description = FromText(trace.Text(trace.process_groups.description[group]));
  return from_description ? from_description
                          : FromText(trace.Text(trace.process_groups.name[group]));
}

// The constant distance between neighbours in a group's list of ranks, if there is one.
std::optional<std::int64_t> StrideOf(const trace::Trace& trace, RowId group) {
  const auto& groups = trace.process_groups;
  if (groups.rank_stride[group] > 0) {
    return groups.rank_stride[group];
  }
  const std::vector<std::int32_t> ranks = NumbersIn<std::int32_t>(trace.Text(groups.ranks[group]));
  if (ranks.size() < 2 || groups.ranks_cut[group] != 0) {
    return std::nullopt;
  }
  for (std::size_t i = 2; i < ranks.size(); ++i) {
    if (ranks[i] - ranks[i - 1] != ranks[1] - ranks[0]) {
      return std::nullopt;
    }
  }
  return ranks[1] - ranks[0];
}

// Megatron's order, which others follow: tp innermost, then cp, dp, and pp outermost.
std::optional<Dimension> FromRankPattern(const RunView& run, const trace::Trace& trace,
                                         RowId group) {
  const trace::TraceSet& set = *run.set;
  const std::int64_t size = trace::GroupSize(trace, group);
  const auto stride = StrideOf(trace, group);
  const auto world = CardInteger(set, "total_count");
  const std::int64_t tp = CardParallelSize(set, "tp");
  const std::int64_t cp = CardParallelSize(set, "cp");
  const std::int64_t pp = CardParallelSize(set, "pp");
  const std::int64_t dp = CardParallelSize(set, "dp");
  if (!stride || size < 2) {
    return std::nullopt;
  }
  if (tp > 1 && size == tp && *stride == 1) {
    return kTensor;
  }
  if (cp > 1 && size == cp && *stride == tp) {
    return kContext;
  }
  if (pp > 1 && size == pp && world && *stride == *world / pp) {
    return kPipeline;
  }
  return dp > 1 && size == dp && *stride == tp * cp ? std::optional(kData) : std::nullopt;
}

std::optional<Dimension> FromOperation(const RunView& run, const trace::Trace& trace,
                                       RowId collective) {
  const trace::TraceSet& set = *run.set;
  const RowId group = trace.collectives.group[collective];
  const std::int64_t size = group == kNoRow ? -1 : trace::GroupSize(trace, group);
  const std::int64_t tp = CardParallelSize(set, "tp");
  switch (trace.collectives.kind[collective]) {
    case CollectiveKind::kSend:
    case CollectiveKind::kRecv:
      return kPipeline;
    case CollectiveKind::kAllToAll:
      return kExpert;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
      return CardInteger(set, "dp_shard").value_or(1) > 1 ? std::optional(kData) : std::nullopt;
    case CollectiveKind::kAllReduce:
      return tp > 1 && size == tp ? std::optional(kTensor) : std::nullopt;
    default:
      return std::nullopt;
  }
}

DimensionOf DimensionOfRow(const RunView& run, const trace::Trace& trace, RowId collective) {
  const RowId group = trace.collectives.group[collective];
  if (group != kNoRow) {
    if (const auto found = FromDescription(trace, group)) {
      return {*found, DimensionRule::kDescription};
    }
    if (const auto found = FromRankPattern(run, trace, group)) {
      return {*found, DimensionRule::kRankPattern};
    }
  }
  if (const auto found = FromOperation(run, trace, collective)) {
    return {*found, DimensionRule::kOperation};
  }
  return {};
}

CollectiveRecord MatchedRecord(const RunView& run, std::size_t instance) {
  const auto& matched = run.matched;
  const std::uint32_t first = matched.instances.first_member[instance];
  const std::int32_t stated = matched.groups[matched.instances.group[instance]].num_ranks;
  const auto found = static_cast<std::int32_t>(matched.instances.num_members[instance]);
  return {.kind = matched.instances.kind[instance],
          .num_ranks = std::max(stated, found),
          .bytes = matched.instances.bytes[instance],
          .begin_ns = matched.members.begin_ns[first],
          .transfer_ns = run.waits.transfer_ns[instance],
          .is_matched = true,
          .instance = instance,
          .rank_index = matched.members.rank_index[first],
          .row = matched.members.collective[first]};
}

CollectiveRecord SingleRecord(const RunView& run, const DeviceView& device, RowId row) {
  const trace::Trace& trace = run.TraceOf(device);
  return {.kind = trace.collectives.kind[row],
          .num_ranks = NumParticipants(run, device.rank_index, row),
          .bytes = trace::EventOfRow(trace, row).bytes,
          .begin_ns = trace.collectives.begin_ns[row],
          .transfer_ns = trace.collectives.duration_ns[row],
          .rank_index = device.rank_index,
          .row = row};
}

}  // namespace

std::vector<CommunicationPart> CommunicationParts(const RunView& run, const DeviceView& device) {
  const trace::Trace& trace = run.TraceOf(device);
  const std::vector<DimensionOf> dimensions = CollectiveDimensions(run, device.rank_index);
  std::vector<CommunicationPart> parts;
  for (const RowId row : device.activities) {
    if (run.ClassOf(device, row) != trace::KernelClass::kCommunication) {
      continue;
    }
    const std::int64_t begin_ns = trace.activities.begin_ns[row];
    const std::int64_t end_ns = begin_ns + trace.activities.duration_ns[row];
    const RowId collective = trace.activities.collective[row];
    auto window = std::ranges::upper_bound(device.windows, begin_ns, {},
                                           [](const Window& w) { return w.time.end_ns; });
    for (; window != device.windows.end() && window->time.begin_ns < end_ns; ++window) {
      CommunicationPart part{.time = {std::max(begin_ns, window->time.begin_ns),
                                      std::min(end_ns, window->time.end_ns)},
                             .useful_ns = begin_ns,
                             .drained_ns = begin_ns};
      if (collective != kNoRow) {
        part.dimension = dimensions[collective].dimension;
        // The results of matching for the collective.
        const RowId instance = run.matched.ranks[device.rank_index].instance_of_row[collective];
        if (instance != kNoRow) {
          part.group = run.matched.instances.group[instance];
          part.is_matched = run.waits.is_reliable[instance] != 0;
          part.useful_ns += run.waits.WaitOfRow(run.matched, device.rank_index, collective);
          part.drained_ns += run.waits.DrainOfRow(device.rank_index, collective);
        }
      }
      part.useful_ns = std::clamp(part.useful_ns, part.time.begin_ns, part.time.end_ns);
      part.drained_ns = std::clamp(part.drained_ns, part.time.begin_ns, part.useful_ns);
      parts.push_back(part);
    }
  }
  return parts;
}

std::vector<TimePart> TimeParts(const RunView& run, const DeviceView& device) {
  std::vector<Interval> waits;
  std::vector<Interval> transfers;
  for (const CommunicationPart& part : CommunicationParts(run, device)) {
    const std::int64_t useful_ns = part.is_matched ? part.useful_ns : part.time.begin_ns;
    waits.push_back({part.time.begin_ns, useful_ns});
    transfers.push_back({useful_ns, part.time.end_ns});
  }
  std::vector<TimePart> parts = {{.kind = TimeKind::kCompute, .time = device.compute},
                                 {.kind = TimeKind::kTransfer, .time = IntervalSet::Of(transfers)},
                                 {.kind = TimeKind::kWait, .time = IntervalSet::Of(waits)},
                                 {.kind = TimeKind::kMemory, .time = device.memory}};
  MakeExclusive(parts);
  return parts;
}

std::vector<Exposure> SplitExposure(const IntervalSet& compute,
                                    const std::vector<CommunicationPart>& parts,
                                    const std::vector<std::size_t>& key_of_part,
                                    std::size_t num_keys) {
  const auto whole = SetsByKey(parts, key_of_part, num_keys,
                               [](const CommunicationPart& part) { return part.time; });
  const auto waits = SetsByKey(parts, key_of_part, num_keys, [](const CommunicationPart& part) {
    return Interval{part.time.begin_ns, part.useful_ns};
  });
  const auto transfers = SetsByKey(parts, key_of_part, num_keys, [](const CommunicationPart& part) {
    return Interval{part.useful_ns, part.time.end_ns};
  });
  std::vector<Exposure> exposures(num_keys);
  for (std::size_t key = 0; key < num_keys; ++key) {
    exposures[key].busy_ns = whole[key].length_ns();
    exposures[key].hidden_ns = OverlapNs(whole[key], compute);
  }
  ShareTime(Without(whole, compute), [&](std::size_t key, std::int64_t ns, std::size_t sharers) {
    exposures[key].shared_ns += static_cast<double>(ns) / static_cast<double>(sharers);
    exposures[key].exclusive_ns += sharers == 1 ? ns : 0;
  });
  ShareTime(Without(waits, compute), [&](std::size_t key, std::int64_t ns, std::size_t sharers) {
    exposures[key].shared_wait_ns += static_cast<double>(ns) / static_cast<double>(sharers);
  });
  ShareTime(
      Without(transfers, compute), [&](std::size_t key, std::int64_t ns, std::size_t sharers) {
        exposures[key].shared_transfer_ns += static_cast<double>(ns) / static_cast<double>(sharers);
      });
  return exposures;
}

std::string_view DimensionName(Dimension dimension) {
  constexpr std::array<std::string_view, kNumDimensions> kNames{"tp", "dp",    "pp",     "cp",
                                                                "ep", "joint", "unknown"};
  return kNames[static_cast<std::size_t>(dimension)];
}

std::string_view DimensionRuleName(DimensionRule rule) {
  constexpr std::array<std::string_view, 4> kNames{"description", "rank pattern", "operation",
                                                   "none"};
  return kNames[static_cast<std::size_t>(rule)];
}

std::vector<DimensionOf> CollectiveDimensions(const RunView& run, std::uint32_t rank_index) {
  const trace::Trace& trace = run.set->ranks[rank_index];
  std::vector<DimensionOf> dimensions(trace.collectives.size());

  // Rows of one group and kind have one answer.
  struct Known {
    RowId group;
    CollectiveKind kind;
    DimensionOf dimension;
  };

  std::vector<Known> known;
  for (RowId row = 0; row < trace.collectives.size(); ++row) {
    const RowId group = trace.collectives.group[row];
    const CollectiveKind kind = trace.collectives.kind[row];
    auto found = std::ranges::find_if(
        known, [&](const Known& k) { return k.group == group && k.kind == kind; });
    if (found == known.end()) {
      known.push_back({group, kind, DimensionOfRow(run, trace, row)});
      found = known.end() - 1;
    }
    dimensions[row] = found->dimension;
  }
  return dimensions;
}

bool HasPipeline(const RunView& run) {
  if (CardParallelSize(*run.set, "pp") > 1) {
    return true;
  }
  for (std::uint32_t rank = 0; rank < run.set->ranks.size(); ++rank) {
    const auto dimensions = CollectiveDimensions(run, rank);
    if (std::ranges::any_of(dimensions, [](DimensionOf d) { return d.dimension == kPipeline; })) {
      return true;
    }
  }
  return false;
}

std::optional<double> BusFactor(CollectiveKind kind, std::int32_t num_ranks) {
  switch (kind) {
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kReduce:
    case CollectiveKind::kSend:
    case CollectiveKind::kRecv:
      return 1.0;
    case CollectiveKind::kUnknown:
    case CollectiveKind::kBarrier:
      return std::nullopt;
    default:
      break;
  }
  if (num_ranks < 1) {
    return std::nullopt;
  }
  const double share = static_cast<double>(num_ranks - 1) / static_cast<double>(num_ranks);
  return kind == CollectiveKind::kAllReduce ? 2.0 * share : share;
}

std::optional<double> CollectiveRecord::BusBytes() const {
  const auto factor = BusFactor(kind, num_ranks);
  return bytes < 0 || !factor ? std::nullopt : std::optional(static_cast<double>(bytes) * *factor);
}

std::optional<double> CollectiveRecord::BusBandwidth() const {
  const auto moved = BusBytes();
  return !moved || transfer_ns <= 0
             ? std::nullopt
             : std::optional(*moved * 1e9 / static_cast<double>(transfer_ns));
}

std::vector<CollectiveRecord> CollectiveRecords(const RunView& run) {
  std::vector<CollectiveRecord> records;
  for (std::size_t instance = 0; instance < run.matched.size(); ++instance) {
    if (run.Counts(instance)) {
      records.push_back(MatchedRecord(run, instance));
    }
  }
  if (!records.empty()) {
    return records;
  }
  for (const DeviceView& device : run.devices) {
    ForEachCollective(run, device,
                      [&](RowId row) { records.push_back(SingleRecord(run, device, row)); });
  }
  std::ranges::stable_sort(records, {}, &CollectiveRecord::begin_ns);
  return records;
}

std::int32_t NumParticipants(const RunView& run, std::uint32_t rank_index, RowId row) {
  const trace::Trace& trace = run.set->ranks[rank_index];
  const RowId group = trace.collectives.group[row];
  const std::int32_t stated = group == kNoRow ? -1 : trace::GroupSize(trace, group);
  if (stated > 0) {
    return stated;
  }
  const RowId instance = run.matched.ranks[rank_index].instance_of_row[row];
  return instance == kNoRow
             ? trace.info.world_size
             : static_cast<std::int32_t>(run.matched.instances.num_members[instance]);
}

bool IsKind(CollectiveKind found, CollectiveKind kind) {
  const bool is_pair = found == CollectiveKind::kSend || found == CollectiveKind::kRecv;
  return found == kind || (kind == CollectiveKind::kSendRecv && is_pair);
}

bool AreServedTogether(const trace::Collectives& table, RowId a, RowId b) {
  return table.begin_ns[a] == table.begin_ns[b] && table.duration_ns[a] == table.duration_ns[b] &&
         table.track[a] == table.track[b];
}

std::int64_t NumSteps(const DeviceView& device) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(device.windows.size()));
}

std::int64_t NumSteps(const RunView& run) {
  std::int64_t steps = 1;
  for (const DeviceView& device : run.devices) {
    steps = std::max(steps, NumSteps(device));
  }
  return steps;
}

void ForEachCollective(const RunView& run, const DeviceView& device,
                       const std::function<void(RowId)>& visit) {
  const trace::Trace& trace = run.TraceOf(device);
  for (RowId row = 0; row < trace.collectives.size(); ++row) {
    const RowId track = trace.collectives.track[row];
    const bool is_here = track == kNoRow || trace.tracks.device[track] == device.device;
    if (is_here && trace.collectives.num_kernels[row] > 0 &&
        run.IsSelected(device.rank_index, trace.collectives.begin_ns[row])) {
      visit(row);
    }
  }
}

}  // namespace orrery::analyze
