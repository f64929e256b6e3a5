#include "orrery/export/chrome_collectives.h"

#include <string>

#include <fmt/format.h>

#include "orrery/export/collective_rows.h"

namespace orrery::exporting {
namespace {

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

std::int64_t RankOf(const trace::TraceSet& set, const CollectiveMember& member) {
  return RankNumber(set.ranks[member.rank_index], member.rank_index);
}

void WriteMembers(const trace::TraceSet& set, const CollectiveSpan& span, JsonWriter& json) {
  json.Raw("\"members\": [");
  for (std::size_t i = 0; i < span.members.size(); ++i) {
    json.Raw(i == 0 ? "" : ", ");
    json.Integer(RankOf(set, span.members[i]));
  }
  json.Raw("]");
}

void WriteArgs(const trace::TraceSet& set, const CollectiveSpan& span,
               const CollectiveFigures& figures, JsonWriter& json) {
  WriteMembers(set, span, json);
  json.Raw(", \"last rank\": ");
  json.Integer(RankOf(set, span.members[figures.last_member]));
  json.Raw(", \"wait sum (us)\": ");
  json.Microseconds(figures.wait_sum_ns);
  json.Raw(", \"transfer (us)\": ");
  json.Microseconds(figures.transfer_ns);
  if (span.bytes >= 0) {
    json.Raw(", \"bytes\": ");
    json.Integer(span.bytes);
  }
  if (figures.bus_bytes_per_second >= 0) {
    json.Raw(", \"busbw (GB/s)\": ");
    json.Double(figures.bus_bytes_per_second / 1e9);
  }
}

void WriteSlice(const trace::TraceSet& set, const CollectiveSpan& span,
                const CollectiveFigures& figures, const std::string& place, ChromeEvents& events) {
  JsonWriter& json = events.Begin();
  json.Raw("\"ph\":\"X\",\"cat\":\"orrery_collective\",\"name\":");
  json.String(span.name);
  json.Raw(",");
  json.Raw(place);
  events.Time(figures.begin_ns);
  json.Raw(",\"dur\":");
  json.Microseconds(figures.end_ns - figures.begin_ns);
  json.Raw(",\"args\":{");
  WriteArgs(set, span, figures, json);
  json.Raw("}}");
}

std::int64_t EndOfRanks(const trace::TraceSet& set) {
  std::int64_t end = 0;
  for (std::size_t i = 0; i < set.ranks.size(); ++i) {
    end = std::max(end, RankNumber(set.ranks[i], i) + 1);
  }
  return end;
}

}  // namespace

void WriteCollectives(const trace::TraceSet& set, std::span<const CollectiveSpan> collectives,
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
      WriteSlice(set, collectives[slice.span], slice.figures,
                 places.Thread(track, slice.lane).place, events);
    }
  }
}

}  // namespace orrery::exporting
