#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/fields/documents.h"
#include "orrery/api/memory/tool.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/draw/chart/charts.h"
#include "orrery/draw/format.h"
#include "orrery/memory/coverage.h"
#include "orrery/memory/kernel_counts.h"
#include "orrery/trace/trace.h"

namespace orrery::api {
namespace {

using memory::KernelFrequency;
using memory::KernelGroup;

constexpr std::size_t kMaxNamedVariants = 3;

// A time is known where any kernel has one.
Value TimeCell(const KernelFrequency& frequency, Value cell) {
  return frequency.total_ns == 0 ? Value() : std::move(cell);
}

std::vector<Value> RowOf(const KernelFrequency& frequency, const KernelGroup& group) {
  return {group.name,
          group.count,
          ShareOf(group.count, frequency.num_launches),
          TimeCell(frequency, group.total_ns),
          TimeCell(frequency, ShareOf(group.total_ns, frequency.total_ns)),
          static_cast<std::int64_t>(group.variants.size())};
}

Document::Table KernelTable(const KernelFrequency& frequency, std::size_t top) {
  Document::Table table{
      .key = "kernels",
      .heading = "kernels by launches",
      .columns = {AsText("name", "kernel"), AsCount("launches", "launches"),
                  AsShare("share", "share"), AsTime("total_ns", "time"),
                  AsShare("time_share", "of time"), AsCount("variants", "full names")},
      .max_shown = top};
  for (const KernelGroup& group : frequency.groups) {
    table.rows.push_back(RowOf(frequency, group));
  }
  return table;
}

// The key from short names to what stands behind them.
Document::Table VariantTable(const KernelFrequency& frequency) {
  Document::Table table{.key = "full_names",
                        .heading = "full names of what was put together",
                        .columns = {AsText("name", "kernel"), AsCount("launches", "launches"),
                                    AsText("full_name", "full name")},
                        .max_shown = 0};
  for (const KernelGroup& group : frequency.groups) {
    for (const KernelGroup::Variant& variant : group.variants) {
      table.rows.push_back({group.name, variant.count, variant.full_name});
    }
  }
  return table;
}

std::string BarNote(const KernelFrequency& frequency, const KernelGroup& group) {
  std::string note = draw::FormatCount(group.count);
  if (frequency.total_ns > 0) {
    note += fmt::format(", {}", draw::FormatDuration({group.total_ns}));
  }
  return note;
}

Document::Picture PictureOf(const KernelFrequency& frequency, std::size_t top) {
  draw::RankedBars chart{.series = {.name = "launches", .style = "compute"},
                         .description = "Launches of each kernel"};
  for (std::size_t i = 0; i < std::min(top, frequency.groups.size()); ++i) {
    const KernelGroup& group = frequency.groups[i];
    chart.bars.push_back({.label = group.name,
                          .value = static_cast<double>(group.count),
                          .note = BarNote(frequency, group),
                          .tip = group.name});
  }
  return {.heading = "Kernels by launches",
          .svg = draw::RenderRankedBars(chart),
          .caption = fmt::format("The {} kernels that are launched most, of {}", chart.bars.size(),
                                 frequency.groups.size())};
}

std::string MergedSentence(const KernelFrequency& frequency) {
  std::size_t merged = 0;
  std::string named;
  for (const KernelGroup& group : frequency.groups) {
    if (group.variants.size() > 1 && merged++ < kMaxNamedVariants) {
      named +=
          fmt::format("{}{} ({})", named.empty() ? "" : ", ", group.name, group.variants.size());
    }
  }
  return merged == 0
             ? "Each name stands for one kernel."
             : fmt::format(
                   "{} put different kernels together, among them: {}; the table full_names has "
                   "them all.",
                   merged == 1 ? "One name has" : fmt::format("{} names have", merged), named);
}

MemoryToolResult PageOf(const KernelFrequency& frequency, std::size_t top) {
  MemoryToolResult page;
  page.facts = {
      {"launches", "launches of kernels", frequency.num_launches},
      {"kernels", "different names", static_cast<std::int64_t>(frequency.groups.size())},
      {"total_ns", "kernel time", TimeCell(frequency, frequency.total_ns), Unit::kNanoseconds}};
  page.tables = {KernelTable(frequency, top), VariantTable(frequency)};
  page.pictures = {PictureOf(frequency, top)};
  page.sentences = {
      "Names are without template arguments, parameters and a leading void. Memcpys and memsets "
      "are not counted.",
      MergedSentence(frequency)};
  return page;
}

MemoryAnalysis Begin(const MemoryInput& input) {
  const auto counter = std::make_shared<memory::KernelCounter>();
  const auto add = [counter](const trace::Trace& piece) -> Status {
    counter->Add(piece);
    return {};
  };
  return {add, [counter, top = input.top] { return PageOf(counter->Count(), top); }};
}

}  // namespace

MemoryTool KernelFrequencyTool() {
  return {.name = "kernel-frequency",
          .line = "which kernels are launched most, grouped by short name",
          .needs = {memory::Need::kKernels},
          .reads = MemoryTool::Reads::kRun,
          .begin = Begin};
}

}  // namespace orrery::api
