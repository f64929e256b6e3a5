#include "orrery/memory/working_set.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/cli/memory/tool.h"
#include "orrery/cli/verb.h"
#include "orrery/draw/chart/line_chart.h"
#include "orrery/memory/coverage.h"
#include "orrery/memory/kernel_line.h"

namespace orrery::cli {
namespace {

using memory::BytesSpread;
using memory::KernelLine;
using memory::UsedMemory;
using memory::WorkingSet;
using memory::WorkingSetGroup;
using memory::WorkingSetLevel;
using memory::WorkingSetSummary;
using report::Document;
using report::Unit;

Value Known(const BytesSpread& spread, double value) {
  return spread.count == 0 ? Value() : Value(value);
}

Value CellOf(const std::optional<double>& value) {
  return value ? Value(*value) : Value();
}

Value BytesCell(std::int64_t bytes) {
  return bytes < 0 ? Value() : Value(bytes);
}

// The columns of published tables: the working set is the largest, then how it is spread.
Document::Table LevelTable(const WorkingSetSummary& summary) {
  Document::Table table{.key = "levels",
                        .heading = "working set of kernels",
                        .columns = {{"level", "level", Unit::kText},
                                    {"launches", "launches", Unit::kCount},
                                    {"working_set_bytes", "working set", Unit::kBytes},
                                    {"min_bytes", "min", Unit::kBytes},
                                    {"mean_bytes", "mean", Unit::kBytes},
                                    {"median_bytes", "median", Unit::kBytes},
                                    {"p90_bytes", "p90", Unit::kBytes},
                                    {"footprint_by_largest", "footprint ÷ largest", Unit::kRatio},
                                    {"footprint_by_mean", "÷ mean", Unit::kRatio}}};
  for (std::size_t i = 0; i < memory::kNumWorkingSetLevels; ++i) {
    const auto level = static_cast<WorkingSetLevel>(i);
    const BytesSpread& spread = summary.At(level);
    table.rows.push_back({std::string(memory::WorkingSetLevelName(level)), spread.count,
                          Known(spread, spread.largest), Known(spread, spread.smallest),
                          Known(spread, spread.mean), Known(spread, spread.median),
                          Known(spread, spread.p90), CellOf(summary.MeanByLargest(level)),
                          CellOf(summary.MeanByMean(level))});
  }
  return table;
}

Document::Table FootprintTable(const WorkingSetSummary& summary) {
  Document::Table table{.key = "footprint",
                        .heading = "footprint when kernels begin",
                        .columns = {{"class", "class", Unit::kText},
                                    {"mean_bytes", "mean", Unit::kBytes},
                                    {"peak_bytes", "peak", Unit::kBytes}}};
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
  Document::Table table{.key = std::move(key),
                        .heading = std::move(heading),
                        .columns = {{"name", std::string(what), Unit::kText},
                                    {"launches", "launches", Unit::kCount},
                                    {"exact_launches", "exact", Unit::kCount},
                                    {"max_bytes", "working set", Unit::kBytes},
                                    {"mean_bytes", "mean", Unit::kBytes},
                                    {"max_page_bytes", "pages", Unit::kBytes},
                                    {"read_bytes", "read", Unit::kBytes},
                                    {"write_bytes", "written", Unit::kBytes},
                                    {"max_reach_bytes", "upper bound", Unit::kBytes}},
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
  Document::Table table{.key = "launches",
                        .heading = "launches, copies and sets in order",
                        .columns = {{"name", "name", Unit::kText},
                                    {"coverage", "coverage", Unit::kText},
                                    {"footprint_bytes", "footprint", Unit::kBytes},
                                    {"allocation_bytes", "allocations", Unit::kBytes},
                                    {"object_bytes", "objects", Unit::kBytes},
                                    {"page_bytes", "pages", Unit::kBytes},
                                    {"sector_bytes", "sectors", Unit::kBytes},
                                    {"byte_bytes", "bytes", Unit::kBytes},
                                    {"reach_bytes", "upper bound", Unit::kBytes},
                                    {"read_bytes", "read", Unit::kBytes},
                                    {"write_bytes", "written", Unit::kBytes},
                                    {"unowned_bytes", "outside", Unit::kBytes}},
                        .max_shown = 0};
  for (const WorkingSet::Launch& launch : working_set.launches()) {
    const UsedMemory& used = launch.used;
    std::vector<Value> row{std::string(working_set.NameOf(launch)),
                           std::string(memory::CoverageName(used.coverage)),
                           used.footprint.total_bytes};
    for (const std::int64_t bytes : used.level_bytes) {
      row.push_back(BytesCell(bytes));
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

report::Document::Picture PictureOf(const KernelLine& kernels) {
  draw::LineChart chart{.x_title = "kernel"};
  chart.y_quantity = draw::Quantity::kBinaryBytes;
  chart.description = "Footprint and working set over the kernels";
  chart.lines = {
      LineOf({.name = "footprint", .style = "other"}, kernels, KernelLine::kFootprint),
      LineOf({.name = "upper bound by arguments", .style = "transfer"}, kernels,
             KernelLine::kReach),
      LineOf({.name = "working set, objects", .style = "compute"}, kernels, KernelLine::kObjects)};
  report::Document::Picture picture{.heading = "Footprint and working set",
                                    .svg = draw::RenderLineChart(chart),
                                    .caption = "Over the kernels in order of launch"};
  for (const draw::ChartLine& line : chart.lines) {
    picture.legend.push_back(line.series);
  }
  return picture;
}

// The columns of Table V in its order, then traffic.
std::vector<report::Document::Fact> FactsOf(const WorkingSetSummary& summary) {
  const BytesSpread& objects = summary.At(WorkingSetLevel::kObject);
  const auto bytes = [&](std::string key, std::string label, double value, std::string note) {
    return report::Document::Fact{std::move(key), std::move(label), Known(objects, value),
                                  Unit::kBytes, std::move(note)};
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
           CellOf(summary.MeanByLargest(WorkingSetLevel::kObject)), Unit::kRatio},
          {"footprint_by_mean", "footprint ÷ mean",
           CellOf(summary.MeanByMean(WorkingSetLevel::kObject)), Unit::kRatio},
          {"read_bytes", "read", summary.read_bytes, Unit::kBytes, "issued by exact launches"},
          {"write_bytes", "written", summary.write_bytes, Unit::kBytes, "issued by exact launches"},
          {"unowned_bytes", "outside of live objects", summary.unowned_bytes, Unit::kBytes}};
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

class WorkingSetAnalysis : public MemoryAnalysis {
 public:
  WorkingSetAnalysis(std::int64_t page_bytes, std::size_t top)
      : page_bytes_(page_bytes), top_(top), working_set_(page_bytes) {}

  [[nodiscard]] Status Add(const trace::Trace& piece) override {
    working_set_.Add(piece);
    return {};
  }

  [[nodiscard]] Result<MemoryResult> Finish() override {
    const WorkingSetSummary summary = working_set_.Summary();
    MemoryResult page;
    page.facts = FactsOf(summary);
    page.pictures = {PictureOf(working_set_.line())};
    page.tables = {
        LevelTable(summary), FootprintTable(summary),
        GroupTable("kernels", "by kernel", "kernel", working_set_.ByKernel(), top_),
        GroupTable("operators", "by operator", "operator", working_set_.ByOperator(), top_)};
    page.sentences = SentencesOf(page_bytes_);
    if (working_set_.IsInPieces()) {
      page.sentences.emplace_back(
          "The list of single launches is left out of recordings that are read in pieces; --whole "
          "reads them at once.");
    } else {
      page.tables.push_back(LaunchTable(working_set_));
    }
    return page;
  }

 private:
  std::int64_t page_bytes_;
  std::size_t top_;
  WorkingSet working_set_;
};

class WorkingSetTool : public MemoryTool {
 public:
  [[nodiscard]] std::string_view name() const override { return "working-set"; }

  [[nodiscard]] std::string_view line() const override {
    return "footprint against what kernels use of it, from allocations to bytes";
  }

  [[nodiscard]] std::vector<memory::Need> needs() const override {
    return {memory::Need::kObjects, memory::Need::kTouches};
  }

  void AddOptions(Verb& verb) override {
    verb.AddOption("--page", page_bytes_, "smallest page of the page level, in bytes")
        .ShowDefault()
        .Range(std::int64_t{32}, std::int64_t{1} << 30);
  }

  [[nodiscard]] std::unique_ptr<MemoryAnalysis> Begin(const MemoryInput& input) const override {
    return std::make_unique<WorkingSetAnalysis>(page_bytes_, input.top);
  }

 private:
  std::int64_t page_bytes_ = 4096;
};

}  // namespace

std::unique_ptr<MemoryTool> MakeWorkingSetTool() {
  return std::make_unique<WorkingSetTool>();
}

}  // namespace orrery::cli
