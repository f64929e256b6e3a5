#include "orrery/memory/working_set.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/fields/documents.h"
#include "orrery/api/memory/tool.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/chart/charts.h"
#include "orrery/memory/coverage.h"
#include "orrery/memory/live_objects.h"
#include "orrery/memory/used_memory.h"
#include "orrery/trace/trace.h"

namespace orrery::api {
namespace {

using memory::BytesSpread;
using memory::KernelLine;
using memory::UsedMemory;
using memory::WorkingSet;
using memory::WorkingSetGroup;
using memory::WorkingSetLevel;
using memory::WorkingSetSummary;

Value Known(const BytesSpread& spread, double value) {
  return spread.count == 0 ? Value() : Value(value);
}

// The columns of published tables: the working set is the largest, then how it is spread.
Document::Table LevelTable(const WorkingSetSummary& summary) {
  Document::Table table{.key = "levels",
                        .heading = "working set of kernels",
                        .columns = {AsText("level", "level"), AsCount("launches", "launches"),
                                    AsBytes("working_set_bytes", "working set"),
                                    AsBytes("min_bytes", "min"), AsBytes("mean_bytes", "mean"),
                                    AsBytes("median_bytes", "median"), AsBytes("p90_bytes", "p90"),
                                    AsRatio("footprint_by_largest", "footprint ÷ largest"),
                                    AsRatio("footprint_by_mean", "÷ mean")}};
  for (std::size_t i = 0; i < memory::kNumWorkingSetLevels; ++i) {
    const auto level = static_cast<WorkingSetLevel>(i);
    const BytesSpread& spread = summary.At(level);
    table.rows.push_back({std::string(memory::WorkingSetLevelName(level)), spread.count,
                          Known(spread, spread.largest), Known(spread, spread.smallest),
                          Known(spread, spread.mean), Known(spread, spread.median),
                          Known(spread, spread.p90), summary.MeanByLargest(level),
                          summary.MeanByMean(level)});
  }
  return table;
}

Document::Table FootprintTable(const WorkingSetSummary& summary) {
  Document::Table table{.key = "footprint",
                        .heading = "footprint when kernels begin",
                        .columns = {AsText("class", "class"), AsBytes("mean_bytes", "mean"),
                                    AsBytes("peak_bytes", "peak")}};
  const auto add = [&](std::string_view name, const BytesSpread& spread) {
    table.rows.push_back({std::string(name), spread.mean, spread.largest});
  };
  add("all, each byte once", summary.footprint);
  for (std::size_t i = 0; i < memory::kNumFootprintClasses; ++i) {
    add(memory::FootprintClassName(static_cast<memory::FootprintClass>(i)),
        summary.class_footprint[i]);
  }
  return table;
}

Document::Table GroupTable(std::string key, std::string heading, std::string_view what,
                           const std::vector<WorkingSetGroup>& groups, std::size_t top) {
  Document::Table table{
      .key = std::move(key),
      .heading = std::move(heading),
      .columns = {AsText("name", std::string(what)), AsCount("launches", "launches"),
                  AsCount("exact_launches", "exact"), AsBytes("max_bytes", "working set"),
                  AsBytes("mean_bytes", "mean"), AsBytes("max_page_bytes", "pages"),
                  AsBytes("read_bytes", "read"), AsBytes("write_bytes", "written"),
                  AsBytes("max_reach_bytes", "upper bound")},
      .max_shown = top};
  for (const WorkingSetGroup& group : groups) {
    const bool is_seen = group.num_exact > 0;
    table.rows.push_back({group.name, group.num_launches, group.num_exact,
                          Known(group.object_bytes, group.object_bytes.largest),
                          Known(group.object_bytes, group.object_bytes.mean),
                          Known(group.page_bytes, group.page_bytes.largest),
                          is_seen ? Value(group.read_bytes) : Value(),
                          is_seen ? Value(group.write_bytes) : Value(),
                          Known(group.reach_bytes, group.reach_bytes.largest)});
  }
  return table;
}

Document::Table LaunchTable(const WorkingSet& working_set) {
  Document::Table table{
      .key = "launches",
      .heading = "launches, memcpys and memsets in order",
      .columns = {AsText("name", "name"), AsText("coverage", "coverage"),
                  AsBytes("footprint_bytes", "footprint"),
                  AsBytes("allocation_bytes", "allocations"), AsBytes("object_bytes", "objects"),
                  AsBytes("page_bytes", "pages"), AsBytes("sector_bytes", "sectors"),
                  AsBytes("byte_bytes", "bytes"), AsBytes("reach_bytes", "upper bound"),
                  AsBytes("read_bytes", "read"), AsBytes("write_bytes", "written"),
                  AsBytes("unowned_bytes", "outside")},
      .max_shown = 0};
  for (const WorkingSet::Launch& launch : working_set.launches()) {
    const UsedMemory& used = launch.used;
    std::vector<Value> row{std::string(working_set.NameOf(launch)),
                           std::string(memory::CoverageName(used.coverage)),
                           used.footprint.total_bytes};
    for (const std::int64_t bytes : used.level_bytes) {
      row.push_back(bytes < 0 ? Value() : Value(bytes));
    }
    row.insert(row.end(), {used.read_bytes, used.write_bytes, used.unowned_bytes});
    table.rows.push_back(std::move(row));
  }
  return table;
}

draw::ChartLine LineOf(draw::Series series, const KernelLine& kernels, KernelLine::Curve curve) {
  draw::ChartLine line{.series = std::move(series)};
  for (std::size_t i = 0; i < kernels.points().size(); ++i) {
    const std::int64_t begin = static_cast<std::int64_t>(i) * kernels.step();
    const std::int64_t bytes = kernels.points()[i][curve];
    if (bytes >= 0) {
      line.segments.push_back(
          {.begin = static_cast<double>(begin),
           .end = static_cast<double>(std::min(begin + kernels.step(), kernels.num_kernels())),
           .value = static_cast<double>(bytes)});
    }
  }
  return line;
}

Document::Picture PictureOf(const KernelLine& kernels) {
  draw::LineChart chart{.x_title = "kernel"};
  chart.y_quantity = draw::Quantity::kBinaryBytes;
  chart.description = "Footprint and working set over the kernels";
  chart.lines = {
      LineOf({.name = "footprint", .style = "other"}, kernels, KernelLine::kFootprint),
      LineOf({.name = "upper bound by arguments", .style = "transfer"}, kernels,
             KernelLine::kReach),
      LineOf({.name = "working set, objects", .style = "compute"}, kernels, KernelLine::kObjects)};
  return {.heading = "Footprint and working set",
          .svg = draw::RenderLineChart(chart),
          .caption = "Over the kernels in order of launch",
          .legend = draw::LineLegend(chart)};
}

// The columns of Table V in its order, then traffic.
std::vector<Document::Fact> FactsOf(const WorkingSetSummary& summary) {
  const BytesSpread& objects = summary.At(WorkingSetLevel::kObject);
  const auto bytes = [&](std::string key, std::string label, double value, std::string note) {
    return Document::Fact{std::move(key), std::move(label), Known(objects, value), Unit::kBytes,
                          std::move(note)};
  };
  return {{"kernels", "kernels", summary.num_kernels},
          {"mean_footprint_bytes", "mean footprint", summary.footprint.mean, Unit::kBytes},
          {"peak_footprint_bytes", "peak footprint", summary.footprint.largest, Unit::kBytes},
          bytes("working_set_bytes", "working set", objects.largest, "the largest, objects"),
          bytes("min_bytes", "min", objects.smallest, "of working sets"),
          bytes("mean_bytes", "mean", objects.mean, "of working sets"),
          bytes("median_bytes", "median", objects.median, "of working sets"),
          bytes("p90_bytes", "p90", objects.p90, "of working sets"),
          {"footprint_by_largest", "footprint ÷ largest",
           summary.MeanByLargest(WorkingSetLevel::kObject), Unit::kRatio},
          {"footprint_by_mean", "footprint ÷ mean", summary.MeanByMean(WorkingSetLevel::kObject),
           Unit::kRatio},
          {"read_bytes", "read", summary.read_bytes, Unit::kBytes, "issued by exact launches"},
          {"write_bytes", "written", summary.write_bytes, Unit::kBytes, "issued by exact launches"},
          {"unowned_bytes", "outside live objects", summary.unowned_bytes, Unit::kBytes}};
}

std::vector<std::string> SentencesOf(std::int64_t page_bytes) {
  return {
      "Levels count kernels that were seen exactly; the upper bound counts objects that a launch "
      "touched or was given as arguments, and is part of no other level.",
      fmt::format("At each level a byte counts once. Pages smaller than {} bytes count as such "
                  "pages; pages and sectors are clipped to their objects.",
                  page_bytes),
      "The working set is the largest over kernels, the footprint a mean: their ratio mixes two "
      "statistics as published tables do, the one by mean does not. Percentiles interpolate "
      "linearly between sorted values at q·(n − 1).",
      "Read and written are bytes issued; they exceed the working set when data are read again."};
}

MemoryToolResult PageOf(const WorkingSet& working_set, std::int64_t page_bytes, std::size_t top) {
  const WorkingSetSummary summary = working_set.Summary();
  MemoryToolResult page;
  page.facts = FactsOf(summary);
  page.pictures = {PictureOf(working_set.line())};
  page.tables = {LevelTable(summary), FootprintTable(summary),
                 GroupTable("kernels", "by kernel", "kernel", working_set.ByKernel(), top),
                 GroupTable("operators", "by operator", "operator", working_set.ByOperator(), top)};
  page.sentences = SentencesOf(page_bytes);
  if (working_set.IsInPieces()) {
    page.sentences.emplace_back(
        "The list of single launches is left out of recordings that are read in pieces; --whole "
        "reads them at once.");
  } else {
    page.tables.push_back(LaunchTable(working_set));
  }
  return page;
}

MemoryAnalysis Begin(std::int64_t page_bytes, std::size_t top) {
  const auto working_set = std::make_shared<WorkingSet>(page_bytes);
  const auto add = [working_set](const trace::Trace& piece) -> Status {
    working_set->Add(piece);
    return {};
  };
  return {add, [=] { return PageOf(*working_set, page_bytes, top); }};
}

}  // namespace

MemoryTool WorkingSetTool(const MemoryRequest& request) {
  return {.name = "working-set",
          .line = "footprint against what kernels use of it, from allocations to bytes",
          .first_field = "page",
          .last_field = "page",
          .needs = {memory::Need::kObjects, memory::Need::kTouches},
          .begin = [page_bytes = request.page](const MemoryInput& input) {
            return Begin(page_bytes, input.top);
          }};
}

}  // namespace orrery::api
