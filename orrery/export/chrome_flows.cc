#include <algorithm>
#include <string_view>

#include "orrery/export/chrome_events.h"

namespace orrery::exporting {
namespace {


struct ArrowEnd {
  std::string_view place;
  std::int64_t at_ns = 0;
};

struct Arrow {
  std::string_view category;
  std::string_view name;
  std::int64_t id = 0;
  ArrowEnd from;
  ArrowEnd to;
};

void WriteArrowEnd(const Arrow& arrow, const ArrowEnd& end, std::string_view head,
                   ChromeEvents& events) {
  JsonWriter& json = events.Begin();
  json.Raw(head);
  json.Raw("\"id\":");
  json.Integer(arrow.id);
  json.Raw(",\"cat\":");
  json.String(arrow.category);
  json.Raw(",\"name\":");
  json.String(arrow.name);
  json.Raw(",");
  json.Raw(end.place);
  events.Time(end.at_ns);
  json.Raw("}");
}

void WriteArrow(const Arrow& arrow, ChromeEvents& events) {
  WriteArrowEnd(arrow, arrow.from, "\"ph\":\"s\",", events);
  WriteArrowEnd(arrow, arrow.to, "\"ph\":\"f\",\"bp\":\"e\",", events);
}

// Where a row of `table` begins.
template <typename Table>
ArrowEnd BeginOf(const ChromeRank& rank, const Table& table, SliceKind kind, RowId row) {
  const DrawnTracks tracks(rank.trace);
  const Lane lane = rank.layout.LaneOf(kind, row);
  return {rank.rows.Thread(tracks.Of(table.track[row]), lane).place, table.begin_ns[row]};
}

void WriteLaunches(const ChromeRank& rank, FlowIds& ids, ChromeEvents& events) {
  const trace::Activities& activities = rank.trace.activities;
  const trace::RuntimeCalls& calls = rank.trace.runtime_calls;
  for (RowId row = 0; row < activities.size(); ++row) {
    const RowId launch = activities.launch[row];
    if (launch == kNoRow) {
      continue;
    }
    const std::int64_t wanted = rank.like_kineto ? activities.correlation[row] : -1;
    WriteArrow({.category = "ac2g",
                .name = "ac2g",
                .id = ids.Take(wanted),
                .from = BeginOf(rank, calls, SliceKind::kRuntimeCall, launch),
                .to = BeginOf(rank, activities, SliceKind::kActivity, row)},
               events);
  }
}

void WriteForwardBackward(const ChromeRank& rank, FlowIds& ids, ChromeEvents& events) {
  const trace::HostOps& ops = rank.trace.host_ops;
  for (RowId row = 0; row < ops.size(); ++row) {
    const RowId forward = ops.forward_op[row];
    if (forward == kNoRow) {
      continue;
    }
    WriteArrow({.category = "fwdbwd",
                .name = "fwdbwd",
                .id = ids.Take(-1),
                .from = BeginOf(rank, ops, SliceKind::kHostOp, forward),
                .to = BeginOf(rank, ops, SliceKind::kHostOp, row)},
               events);
  }
}

void WriteOtherFlows(const ChromeRank& rank, FlowIds& ids, ChromeEvents& events) {
  const DrawnTracks tracks(rank.trace);
  const trace::Flows& flows = rank.trace.flows;
  for (RowId row = 0; row < flows.size(); ++row) {
    WriteArrow(
        {.category = rank.trace.Text(flows.category[row]),
         .name = rank.trace.Text(flows.name[row]),
         .id = ids.Take(-1),
         .from = {rank.rows.Thread(tracks.Of(flows.begin_track[row])).place, flows.begin_ns[row]},
         .to = {rank.rows.Thread(tracks.Of(flows.end_track[row])).place, flows.end_ns[row]}},
        events);
  }
}

}  // namespace

std::int64_t FlowIds::Take(std::int64_t wanted) {
  if (wanted >= 0 && wanted < next_ && taken_.insert(wanted).second) {
    return wanted;
  }
  return next_++;
}

void FlowIds::Reserve(std::int64_t largest) {
  next_ = std::max(next_, largest + 1);
}

void WriteFlows(const ChromeRank& rank, FlowIds& ids, ChromeEvents& events) {
  if (rank.like_kineto) {
    for (const std::int64_t correlation : rank.trace.activities.correlation) {
      ids.Reserve(correlation);
    }
  }
  WriteLaunches(rank, ids, events);
  WriteForwardBackward(rank, ids, events);
  WriteOtherFlows(rank, ids, events);
}

}  // namespace orrery::exporting
