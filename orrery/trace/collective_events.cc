#include "orrery/trace/collective_events.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "orrery/trace/collective_groups.h"
#include "orrery/trace/collective_lanes.h"
#include "orrery/base/columns.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::trace {
namespace {

using enum CollectiveKind;

std::int64_t FirstKnown(std::int64_t preferred, std::int64_t otherwise) {
  return preferred >= 0 ? preferred : otherwise;
}

// The message size from what a rank puts in and takes out.
std::int64_t MessageSize(CollectiveKind kind, std::int64_t in, std::int64_t out) {
  switch (kind) {
    case kAllReduce:
    case kReduce:
    case kBroadcast:
    case kSend:
      return FirstKnown(in, out);
    case kRecv:
      return FirstKnown(out, in);
    case kAllGather:
      return out;
    case kReduceScatter:
      return in;
    default:
      return std::max(in, out);
  }
}

std::int64_t SumIfKnown(std::int64_t a, std::int64_t b) {
  return a >= 0 && b >= 0 ? a + b : -1;
}

bool HasKernels(const Trace& trace) {
  return std::any_of(trace.collectives.num_kernels.begin(), trace.collectives.num_kernels.end(),
                     [](std::int32_t count) { return count > 0; });
}

}  // namespace

CollectiveEvent EventOfRow(const Trace& trace, RowId row) {
  const Collectives& table = trace.collectives;
  CollectiveEvent event{.begin_ns = table.begin_ns[row],
                        .end_ns = table.begin_ns[row] + table.duration_ns[row],
                        .row = row,
                        .kind = table.kind[row],
                        .data_type = table.data_type[row],
                        .on_device = table.num_kernels[row] > 0};
  event.bytes = MessageSize(event.kind, table.in_bytes[row], table.out_bytes[row]);
  event.size = FirstKnown(event.bytes,
                          MessageSize(event.kind, table.in_elements[row], table.out_elements[row]));
  return event;
}

bool IsPartOf(const Trace& trace, RowId row, const CollectiveEvent& event) {
  const Collectives& table = trace.collectives;
  const std::int64_t begin_ns = table.begin_ns[row];
  if (table.num_kernels[row] <= 0 || !event.on_device || begin_ns >= event.end_ns) {
    return false;
  }
  const bool same_kernel = begin_ns == event.begin_ns &&
                           begin_ns + table.duration_ns[row] == event.end_ns &&
                           table.track[row] == table.track[event.row];
  const std::int64_t sequence = table.sequence[row];
  return same_kernel || (sequence >= 0 && sequence == table.sequence[event.row]);
}

void AddPart(const Trace& trace, RowId row, CollectiveEvent& event) {
  const CollectiveEvent part = EventOfRow(trace, row);
  event.end_ns = std::max(event.end_ns, part.end_ns);
  event.bytes = SumIfKnown(event.bytes, part.bytes);
  event.size = SumIfKnown(event.size, part.size);
}

RankRows SelectRows(const Trace& trace) {
  RankRows rows;
  const bool has_kernels = HasKernels(trace);
  std::vector<std::int32_t> size_of_group(trace.process_groups.size());
  for (RowId group = 0; group < size_of_group.size(); ++group) {
    size_of_group[group] = GroupSize(trace, group);
  }
  rows.first_row_of_event.assign(trace.collectives.size(), kNoRow);
  for (RowId row = 0; row < trace.collectives.size(); ++row) {
    const RowId group = trace.collectives.group[row];
    if (group != kNoRow && size_of_group[group] == 1) {
      ++rows.num_in_groups_of_one;
    } else if (has_kernels && trace.collectives.num_kernels[row] <= 0) {
      ++rows.num_without_kernels;
    } else {
      rows.first_row_of_event[row] = row;
    }
  }
  return rows;
}

bool HasCommonSize(CollectiveKind kind) {
  switch (kind) {
    case kAllReduce:
    case kAllGather:
    case kReduceScatter:
    case kBroadcast:
    case kReduce:
    case kSend:
    case kRecv:
      return true;
    default:
      return false;
  }
}

}  // namespace orrery::trace
