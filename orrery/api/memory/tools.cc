#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/fields/documents.h"
#include "orrery/api/memory/tool.h"
#include "orrery/base/columns.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/memory/coverage.h"
#include "orrery/memory/names.h"
#include "orrery/report/document.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::api {
namespace {

using trace::Trace;

constexpr std::array<std::string_view, 4> kActivityKeys{"kernels", "copies", "sets", "other"};
constexpr std::array<std::string_view, 4> kActivityNames{"kernels", "memcpys", "memsets", "other"};
constexpr std::size_t kNumClasses = static_cast<std::size_t>(trace::MemoryClass::kStatic) + 1;

struct Counted {
  std::int64_t count = 0;
  std::int64_t bytes = 0;
};

void AddRow(Document::Table& table, std::string_view key, std::string_view kind,
            const Counted& counted) {
  if (counted.count > 0) {
    table.rows.push_back({std::string(key), std::string(kind), counted.count, counted.bytes});
  }
}

void AddRow(Document::Table& table, const std::string& kind, const Counted& counted) {
  AddRow(table, kind, kind, counted);
}

// Bytes of kernels are not known here.
void AddActivities(const Trace& trace, Document::Table& table) {
  std::array<Counted, kActivityNames.size()> counted{};
  for (RowId row = 0; row < trace.activities.size(); ++row) {
    Counted& kind = counted[static_cast<std::size_t>(trace.activities.kind[row])];
    ++kind.count;
    kind.bytes += std::max<std::int64_t>(0, trace.activities.bytes[row]);
  }
  for (std::size_t kind = 0; kind < counted.size(); ++kind) {
    AddRow(table, kActivityKeys[kind], kActivityNames[kind], counted[kind]);
  }
}

void AddObjects(const Trace& trace, Document::Table& table) {
  std::array<Counted, kNumClasses> counted{};
  for (RowId row = 0; row < trace.memory_objects.size(); ++row) {
    Counted& kind = counted[static_cast<std::size_t>(trace.memory_objects.memory_class[row])];
    ++kind.count;
    kind.bytes += trace.memory_objects.bytes[row];
  }
  for (std::size_t kind = 0; kind < counted.size(); ++kind) {
    AddRow(
        table,
        fmt::format("objects, {}", memory::MemoryClassName(static_cast<trace::MemoryClass>(kind))),
        counted[kind]);
  }
}

void AddAllocatorEvents(const Trace& trace, Document::Table& table) {
  Counted allocated;
  Counted freed;
  for (const std::int64_t bytes : trace.memory_events.bytes) {
    Counted& side = bytes < 0 ? freed : allocated;
    ++side.count;
    side.bytes += bytes < 0 ? -bytes : bytes;
  }
  AddRow(table, "allocations of the framework", allocated);
  AddRow(table, "frees of the framework", freed);
}

void AddTouches(const Trace& trace, Document::Table& table) {
  std::array<Counted, memory::kNumCoverages> counted{};
  for (RowId row = 0; row < trace.touches.size(); ++row) {
    Counted& kind = counted[static_cast<std::size_t>(trace.touches.coverage[row])];
    ++kind.count;
    kind.bytes += std::max<std::int64_t>(0, trace.touches.read_bytes[row]) +
                  std::max<std::int64_t>(0, trace.touches.write_bytes[row]);
  }
  for (std::size_t kind = 0; kind < counted.size(); ++kind) {
    AddRow(table,
           fmt::format("touches, {}", memory::CoverageName(static_cast<trace::Coverage>(kind))),
           counted[kind]);
  }
  AddRow(table, "runs of pages", {static_cast<std::int64_t>(trace.page_runs.size()), 0});
  AddRow(table, "single accesses of warps", {static_cast<std::int64_t>(trace.accesses.size()), 0});
}

Document::Table RecordedTable(const Trace& trace) {
  Document::Table table{.key = "recorded",
                        .heading = "what was recorded",
                        .columns = {{"kind", "kind", Unit::kText, 60, report::Shown::kNowhere},
                                    AsText("kind"),
                                    AsCount("count", "count"),
                                    AsBytes("bytes", "bytes")}};
  AddActivities(trace, table);
  AddObjects(trace, table);
  AddAllocatorEvents(trace, table);
  AddTouches(trace, table);
  return table;
}

Document::Table CoverageTable(const Trace& trace) {
  Document::Table table{
      .key = "recorder",
      .heading = "instrumentation coverage",
      .columns = {AsText("kind", "kind"), AsCount("count", "count"), AsText("name", "name")}};
  const trace::CoverageCounts& counts = trace.coverage_counts;
  for (RowId row = 0; row < counts.size(); ++row) {
    table.rows.push_back({std::string(memory::CoverageKindName(counts.kind[row])),
                          counts.count[row], std::string(trace.Text(counts.name[row]))});
  }
  return table;
}

Document::Table ToolTable(const Trace& trace, const MemoryTools& tools) {
  Document::Table table{.key = "tools",
                        .heading = "tools",
                        .columns = {AsText("tool", "--tool"), AsText("status", "runs"),
                                    AsText("reason", "why not", 0)}};
  for (const MemoryTool& tool : tools) {
    const Status met = memory::CheckNeeds(tool.needs, trace);
    table.rows.push_back({std::string(tool.name), std::string(met ? "yes" : "no"),
                          met ? std::string() : met.error().message()});
  }
  return table;
}

CoverageAndNeeds CoverageOfRun(const MemoryRun& run) {
  CoverageAndNeeds coverage;
  for (const trace::Trace* const rank : run.ranks) {
    coverage.Add(*rank);
  }
  return coverage;
}

}  // namespace

MemoryToolResult MemorySummary(const Trace& trace, const MemoryTools& tools) {
  MemoryToolResult page;
  page.tables.push_back(RecordedTable(trace));
  if (!trace.coverage_counts.empty()) {
    page.tables.push_back(CoverageTable(trace));
  }
  page.tables.push_back(ToolTable(trace, tools));
  return page;
}

// One function for each tool, in its own file.
MemoryTool KernelFrequencyTool();
MemoryTool WorkingSetTool(const MemoryRequest& request);
MemoryTool HeatTool(const MemoryRequest& request);
MemoryTool TimelineTool(const MemoryRequest& request);
MemoryTool PatternsTool(const MemoryRequest& request);
MemoryTool OverheadTool(const MemoryRequest& request);
MemoryTool MemoryDiffTool();
MemoryTool UvmTool(const MemoryRequest& request);

MemoryTools AllMemoryTools(const MemoryRequest& request) {
  return {KernelFrequencyTool(), WorkingSetTool(request), HeatTool(request), TimelineTool(request),
          PatternsTool(request), OverheadTool(request),   MemoryDiffTool(),  UvmTool(request)};
}

Result<MemoryToolResult> MemoryTool::Run(const MemoryInput& input) const {
  if (run_whole) {
    return run_whole(input);
  }
  const MemoryAnalysis analysis = begin(input);
  for (const trace::Trace* const rank : input.runs.front().ranks) {
    ORRERY_TRY_STATUS(analysis.add(*rank));
  }
  return analysis.finish();
}

Status CoverageAndNeeds::Check(const MemoryTool& tool, std::string_view title) const {
  const Status met = parts_.Check(tool.needs);
  if (!met) {
    return FailWithin(fmt::format("{}: {} cannot run", title, tool.name), met);
  }
  return {};
}

std::string CoverageAndNeeds::Line(std::string_view title) const {
  return fmt::format("{}{}{}", title, title.empty() ? "" : ": ",
                     memory::CoverageLine(parts_.coverage()));
}

void CoverageAndNeeds::AddParts(std::string_view title, Value& parts) const {
  const memory::LaunchCoverage& coverage = parts_.coverage();
  const memory::LaunchCoverage::Share total = coverage.Total();
  for (std::size_t i = 0; i < memory::kNumCoverages; ++i) {
    const memory::LaunchCoverage::Share& share = coverage.by_coverage[i];
    if (share.num_launches > 0) {
      parts.Add(Value::Object()
                    .Set("run", title)
                    .Set("coverage", memory::CoverageName(static_cast<trace::Coverage>(i)))
                    .Set("launches", share.num_launches)
                    .Set("launch_share", ShareOf(share.num_launches, total.num_launches))
                    .Set("launches_with_times", share.num_with_times)
                    .Set("time_ns", share.time_ns)
                    .Set("time_share", ShareOf(share.time_ns, total.time_ns)));
    }
  }
}

Status CheckToolNeeds(const MemoryTool& tool, const MemoryInput& input) {
  for (const MemoryRun& run : input.runs) {
    for (const trace::Trace* const rank : run.ranks) {
      CoverageAndNeeds needs;
      needs.Add(*rank);
      ORRERY_TRY_STATUS(needs.Check(tool, run.title));
    }
  }
  return {};
}

std::vector<std::string> CoverageLines(const MemoryInput& input) {
  std::vector<std::string> lines;
  for (const MemoryRun& run : input.runs) {
    lines.push_back(CoverageOfRun(run).Line(input.runs.size() > 1 ? run.title : ""));
  }
  return lines;
}

void AddCoverageParts(const MemoryInput& input, Value& parts) {
  for (const MemoryRun& run : input.runs) {
    CoverageOfRun(run).AddParts(run.title, parts);
  }
}

Document MemoryDocument(std::string_view tool, const std::string& title, MemoryToolResult result) {
  Document document{.title = fmt::format("{}: {}", title, tool), .kind = "Orrery memory"};
  Document::Section& head = document.AddSection();
  head.Set("tool", tool).Set("title", title);
  head.Add(Document::List{.key = "coverage", .items = std::move(result.coverage)});
  head.Set("coverage_parts", std::move(result.coverage_parts));
  if (!result.times.empty()) {
    head.Add(Document::List{.key = "times", .items = std::move(result.times)});
  }
  Document::Section& facts = document.AddSection("", "facts");
  for (Document::Fact& fact : result.facts) {
    // Fields of memory tools without a unit are counts.
    fact.format = fact.format.unit == Unit::kText ? Unit::kCount : fact.format;
    facts.Add(std::move(fact));
  }
  Document::Section& pictures = document.AddSection();
  std::ranges::move(result.pictures, std::back_inserter(pictures.blocks));
  Document::Section& tables = document.AddSection("", "tables");
  std::ranges::move(result.tables, std::back_inserter(tables.blocks));
  document.AddSection().Add(Document::List{
      .key = "notes", .heading = "How to read it", .items = std::move(result.sentences)});
  return document;
}

}  // namespace orrery::api
