#include "orrery/analyze/collective_records.h"

#include <algorithm>

#include "orrery/trace/collective_events.h"
#include "orrery/trace/collective_groups.h"

namespace orrery::analyze {
namespace {

using trace::CollectiveKind;

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

bool IsKind(CollectiveKind found, CollectiveKind wanted) {
  const bool is_pair = found == CollectiveKind::kSend || found == CollectiveKind::kRecv;
  return found == wanted || (wanted == CollectiveKind::kSendRecv && is_pair);
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
