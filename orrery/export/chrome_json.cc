#include "orrery/export/chrome_json.h"

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/export/chrome_events.h"
#include "orrery/export/chrome_frame.h"
#include "orrery/export/chrome_rows.h"
#include "orrery/export/collective_spans.h"
#include "orrery/export/rank_layout.h"
#include "orrery/export/slice_names.h"
#include "orrery/trace/trace_set.h"

namespace orrery::exporting {
namespace {

using trace::TraceSet;

// The rows of the process: a thread for each group and lane, numbered from 1.
ChromeRows RowsOf(const std::vector<CollectiveRow>& rows, std::int64_t pid, std::int64_t rank_end) {
  ChromeRows result;
  const std::string pid_text = pid < 0 ? "\"collectives\"" : fmt::format("{}", pid);
  result.processes.push_back(
      {.pid = pid_text, .name = "collectives", .labels = {}, .sort_index = 10 * rank_end});
  for (const CollectiveRow& row : rows) {
    result.first_thread_of_track.push_back(result.threads.size());
    for (Lane lane = 0; lane < row.num_lanes; ++lane) {
      const auto tid = static_cast<std::int64_t>(result.threads.size()) + 1;
      result.threads.push_back({.process = 0,
                                .tid = fmt::format("{}", tid),
                                .name = LaneTitle("group " + row.group, lane),
                                .sort_index = tid,
                                .place = fmt::format("\"pid\":{},\"tid\":{}", pid_text, tid)});
    }
  }
  return result;
}

std::int64_t RankOf(const TraceSet& set, const CollectiveMember& member) {
  return RankNumber(set.ranks[member.rank_index], member.rank_index);
}

void WriteArgs(const TraceSet& set, const CollectiveSpan& span, const CollectiveMetrics& metrics,
               JsonWriter& json) {
  json.Write("\"members\": [");
  for (std::size_t i = 0; i < span.members.size(); ++i) {
    json.Write(i == 0 ? "" : ", ", RankOf(set, span.members[i]));
  }
  json.Write("], \"last rank\": ", RankOf(set, span.members[metrics.last_member]));
  json.Write(", \"wait sum (us)\": ", JsonMicroseconds{metrics.wait_sum_ns});
  json.Write(", \"transfer (us)\": ", JsonMicroseconds{metrics.transfer_ns});
  if (span.bytes >= 0) {
    json.Write(", \"bytes\": ", span.bytes);
  }
  if (metrics.bus_bytes_per_second >= 0) {
    json.Write(", \"busbw (GB/s)\": ", metrics.bus_bytes_per_second / 1e9);
  }
}

void WriteSlice(const TraceSet& set, const CollectiveSpan& span, const CollectiveMetrics& metrics,
                const std::string& place, ChromeEvents& events) {
  JsonWriter& json = events.json();
  events.Begin("\"ph\":\"X\",\"cat\":\"orrery_collective\",\"name\":", JsonText{span.name});
  events.Place(place, metrics.begin_ns);
  json.Write(",\"dur\":", JsonMicroseconds{metrics.end_ns - metrics.begin_ns}, ",\"args\":{");
  WriteArgs(set, span, metrics, json);
  json.Write("}}");
}

std::int64_t EndOfRanks(const TraceSet& set) {
  std::int64_t end = 0;
  for (std::size_t i = 0; i < set.ranks.size(); ++i) {
    end = std::max(end, RankNumber(set.ranks[i], i) + 1);
  }
  return end;
}

// Writes a process "collectives" with number `pid` (below zero: a name instead, as Kineto does for
// rows that are not a process) and a thread for each group: one slice for each collective, from the
// first arrival to the last end.
void WriteCollectives(const TraceSet& set, std::span<const CollectiveSpan> collectives,
                      std::int64_t pid, ChromeEvents& events) {
  const std::vector<CollectiveRow> rows = LayOutCollectives(collectives);
  if (rows.empty()) {
    return;
  }
  const ChromeRows places = RowsOf(rows, pid, EndOfRanks(set));
  WriteRowNames(places, events);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (const CollectiveRow::Slice& slice : rows[row].slices) {
      const auto track = static_cast<RowId>(row);
      WriteSlice(set, collectives[slice.span], slice.metrics,
                 places.Thread(track, slice.lane).place, events);
    }
  }
}

// Numbering starts at 1: process 0 is the idle process to Perfetto.
constexpr std::int64_t kFirstPid = 1;

// Writes the ranks one after the other, so that only one layout is in memory.
class SetWriter {
 public:
  SetWriter(const TraceSet& set, ChromeEvents& events)
      : set_(set), like_kineto_(set.ranks.size() == 1), events_(events) {}

  void WriteRank(std::size_t index, std::span<const CollectiveWait> waits) {
    const trace::Trace& trace = set_.ranks[index];
    const RankLayout layout = LayOutRank(trace, waits);
    rows_.push_back(like_kineto_ ? KinetoRows(trace, layout)
                                 : RankRows(trace, layout, RankNumber(trace, index), next_pid_));
    next_pid_ += static_cast<std::int64_t>(rows_.back().processes.size());
    JsonStrings strings(trace.strings);
    const ChromeRank rank{.trace = trace,
                          .layout = layout,
                          .rows = rows_.back(),
                          .strings = strings,
                          .like_kineto = like_kineto_};
    WriteRowNames(rank.rows, events_);
    WriteSlices(rank, events_);
    WritePoints(rank, events_);
    WriteFlows(rank, flow_ids_, events_);
  }

  void WriteCollectiveSlices(std::span<const CollectiveSpan> collectives) {
    WriteCollectives(set_, collectives, like_kineto_ ? -1 : next_pid_, events_);
  }

  // Of the ranks written so far.
  [[nodiscard]] const std::vector<ChromeRows>& rows() const { return rows_; }

 private:
  const TraceSet& set_;
  bool like_kineto_;
  ChromeEvents& events_;
  std::vector<ChromeRows> rows_;
  FlowIds flow_ids_;
  std::int64_t next_pid_ = kFirstPid;
};

}  // namespace

Status WriteChromeJson(const TraceSet& set, std::span<const CollectiveSpan> collectives,
                       ByteSink& sink) {
  // Times of unknown origin stay as they are: a base would claim a date.
  const std::int64_t base_ns =
      HasEpochTimes(set) ? FloorToSecond(EarliestTime(set, collectives)) : 0;
  const auto waits = WaitsByRank(set.ranks.size(), collectives);
  JsonWriter json(sink);
  ChromeEvents events(json, base_ns);
  SetWriter writer(set, events);
  WriteFrameHead(set, base_ns, json);
  json.Write("\"traceEvents\": [");
  for (std::size_t i = 0; i < set.ranks.size(); ++i) {
    writer.WriteRank(i, waits[i]);
  }
  writer.WriteCollectiveSlices(collectives);
  json.Write("\n]");
  WriteFrameTail(set, writer.rows(), base_ns, json);
  return json.Flush();
}

}  // namespace orrery::exporting
