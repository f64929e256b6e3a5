#include "orrery/memory/diff/diff.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/api/errors.h"
#include "orrery/api/fields/documents.h"
#include "orrery/api/memory/tool.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/chart/charts.h"
#include "orrery/memory/coverage.h"
#include "orrery/memory/timeline/history.h"
#include "orrery/memory/timeline/timeline.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::api {
namespace {

using memory::diff::KernelChange;
using memory::diff::KernelTraffic;
using memory::diff::SiteChange;
using memory::timeline::MemoryHistory;
using memory::timeline::Timeline;

constexpr std::size_t kMostSites = 5;  // with a colour of their own

/// The rank of a run whose device holds most, and its timeline.
struct HighestRank {
  const trace::Trace* trace = nullptr;
  MemoryHistory history;
  Timeline timeline;
};

HighestRank HighestOf(const MemoryRun& run) {
  HighestRank highest{.trace = run.ranks.front(), .history = {}, .timeline = {}};
  for (const trace::Trace* const rank : run.ranks) {
    MemoryHistory history = memory::timeline::HistoryOf(*rank);
    for (Timeline& timeline : TimelinesOf(*rank, history)) {
      const bool is_device = timeline.place.kind != trace::DeviceKind::kCpu;
      if (highest.timeline.points.empty() ||
          (is_device && timeline.peak.bytes > highest.timeline.peak.bytes)) {
        highest = {.trace = rank, .history = history, .timeline = std::move(timeline)};
      }
    }
  }
  return highest;
}

Document::Table SiteTable(const std::vector<SiteChange>& changes, std::size_t top) {
  Document::Table table{
      .key = "sites",
      .heading = "the difference of the peaks, by where memory was allocated",
      .columns = {AsText("site", "allocated in"), AsBytes("before_bytes", "first"),
                  AsBytes("after_bytes", "second"),
                  AsBytes("difference_bytes", "second less first"),
                  AsCount("same_objects", "same size"), AsCount("only_before", "only first"),
                  AsCount("only_after", "only second")},
      .caption =
          "The differences add up to that of the peaks. Objects of a site are "
          "matched by their size.",
      .max_shown = top};
  for (const SiteChange& change : changes) {
    table.rows.push_back({change.site, change.before_bytes, change.after_bytes, change.Difference(),
                          change.num_same, change.num_only_before, change.num_only_after});
  }
  return table;
}

// Bytes are known where launches were counted.
Value BytesCell(const KernelTraffic& traffic, std::int64_t bytes) {
  return traffic.num_counted == 0 ? Value() : Value(bytes);
}

// A recording of accesses has no times of kernels.
Value TimeCell(const KernelTraffic& traffic) {
  return traffic.time_ns == 0 ? Value() : Value(traffic.time_ns);
}

Document::Table KernelTable(const std::vector<KernelChange>& changes, std::size_t top) {
  Document::Table table{
      .key = "kernels",
      .heading = "kernels, by how much their traffic differs",
      .columns = {AsText("name", "kernel"), AsCount("before_launches", "launches, first"),
                  AsCount("after_launches", "second"), AsCount("before_counted", "counted, first"),
                  AsCount("after_counted", "second"), AsBytes("before_read_bytes", "read, first"),
                  AsBytes("after_read_bytes", "second"),
                  AsBytes("before_write_bytes", "written, first"),
                  AsBytes("after_write_bytes", "second"), AsTime("before_ns", "time, first"),
                  AsTime("after_ns", "second")},
      .caption = "Bytes are those of launches whose every access was counted.",
      .max_shown = top};
  for (const KernelChange& change : changes) {
    const KernelTraffic& before = change.before;
    const KernelTraffic& after = change.after;
    table.rows.push_back({change.name, before.num_launches, after.num_launches, before.num_counted,
                          after.num_counted, BytesCell(before, before.read_bytes),
                          BytesCell(after, after.read_bytes), BytesCell(before, before.write_bytes),
                          BytesCell(after, after.write_bytes), TimeCell(before), TimeCell(after)});
  }
  return table;
}

Document::Picture PictureOf(const std::vector<SiteChange>& changes, const MemoryInput& input) {
  constexpr std::string_view kStyles[] = {"compute", "transfer", "memory", "optimizer", "launch"};
  draw::StackedBars bars{.bars = {{.label = input.runs[0].title}, {.label = input.runs[1].title}},
                         .quantity = draw::Quantity::kBinaryBytes,
                         .description = "Peaks of two recordings by site"};
  for (const SiteChange& change : changes) {
    if (bars.series.size() < kMostSites) {
      bars.series.push_back(
          {.name = change.site, .style = std::string(kStyles[bars.series.size()])});
    } else if (bars.series.size() == kMostSites) {
      bars.series.push_back({.name = "all other sites", .style = "other"});
    }
  }
  for (draw::StackedBar& bar : bars.bars) {
    bar.values.resize(bars.series.size(), 0);
  }
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const std::size_t series = std::min(i, kMostSites);
    bars.bars[0].values[series] += static_cast<double>(changes[i].before_bytes);
    bars.bars[1].values[series] += static_cast<double>(changes[i].after_bytes);
  }
  return {.heading = "Peaks by site",
          .svg = changes.empty() ? "" : draw::RenderStackedBars(bars),
          .caption = "The sites that differ most have a colour of their own.",
          .legend = bars.series};
}

Result<MemoryToolResult> Compare(const MemoryInput& input) {
  if (input.runs.size() != 2) {
    return InvalidInput(
        "diff compares two recordings, here is {}: orrery memory A B --tool "
        "diff",
        input.runs.size());
  }
  const HighestRank before = HighestOf(input.runs[0]);
  const HighestRank after = HighestOf(input.runs[1]);
  const std::vector<SiteChange> sites =
      memory::diff::ComparePeaks({.history = &before.history, .timeline = &before.timeline},
                                 {.history = &after.history, .timeline = &after.timeline});
  MemoryToolResult page;
  const std::int64_t before_bytes = before.timeline.peak.bytes;
  const std::int64_t after_bytes = after.timeline.peak.bytes;
  page.facts = {
      {"before_peak_bytes", "peak of the first", before_bytes, Unit::kBytes, input.runs[0].title},
      {"after_peak_bytes", "peak of the second", after_bytes, Unit::kBytes, input.runs[1].title},
      {"difference_bytes", "second less first", after_bytes - before_bytes, Unit::kBytes}};
  page.tables = {SiteTable(sites, input.top),
                 KernelTable(memory::diff::CompareKernels(*before.trace, *after.trace), input.top)};
  page.pictures = {PictureOf(sites, input)};
  page.sentences.emplace_back(
      "Of several ranks those with the highest peaks are compared. Sites are operators from the "
      "outermost to the innermost, else the frame of the call stack.");
  return page;
}

}  // namespace

MemoryTool MemoryDiffTool() {
  return {.name = "diff",
          .line = "two recordings: where the difference of their peaks was allocated, and kernels",
          .needs = {memory::Need::kMemoryEvents},
          .reads = MemoryTool::Reads::kRuns,
          .run_whole = Compare};
}

}  // namespace orrery::api
