#include "orrery/export/chrome_json.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "orrery/export/chrome_collectives.h"
#include "orrery/export/chrome_events.h"
#include "orrery/export/chrome_frame.h"
#include "orrery/export/chrome_rows.h"
#include "orrery/export/rank_layout.h"
#include "orrery/export/recorded_time.h"

namespace orrery::exporting {
namespace {

using trace::TraceSet;

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
  json.Raw("\"traceEvents\": [");
  for (std::size_t i = 0; i < set.ranks.size(); ++i) {
    writer.WriteRank(i, waits[i]);
  }
  writer.WriteCollectiveSlices(collectives);
  json.Raw("\n]");
  WriteFrameTail(set, writer.rows(), base_ns, json);
  return json.Flush();
}

}  // namespace orrery::exporting
