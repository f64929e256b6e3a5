#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/cli/memory/tool.h"
#include "orrery/memory/coverage.h"
#include "orrery/memory/needs.h"
#include "orrery/memory/object_label.h"
#include "orrery/trace/enums.h"

namespace orrery::cli {
namespace {

using report::Document;
using report::Unit;
using trace::Trace;

constexpr std::array<std::string_view, 4> kActivityNames{"kernels", "copies", "sets", "other"};
constexpr std::size_t kNumClasses = static_cast<std::size_t>(trace::MemoryClass::kStatic) + 1;

struct Counted {
  std::int64_t count = 0;
  std::int64_t bytes = 0;
};

void AddRow(Document::Table& table, std::string kind, const Counted& counted) {
  if (counted.count > 0) {
    table.rows.push_back({std::move(kind), counted.count, counted.bytes});
  }
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
    AddRow(table, std::string(kActivityNames[kind]), counted[kind]);
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
                        .columns = {{"kind", "kind", Unit::kText},
                                    {"count", "count", Unit::kCount},
                                    {"bytes", "bytes", Unit::kBytes}}};
  AddActivities(trace, table);
  AddObjects(trace, table);
  AddAllocatorEvents(trace, table);
  AddTouches(trace, table);
  return table;
}

Document::Table CoverageTable(const Trace& trace) {
  Document::Table table{.key = "recorder",
                        .heading = "coverage according to the recorder",
                        .columns = {{"kind", "kind", Unit::kText},
                                    {"count", "count", Unit::kCount},
                                    {"name", "name", Unit::kText}}};
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
                        .columns = {{"tool", "--tool", Unit::kText},
                                    {"status", "runs", Unit::kText},
                                    {"reason", "why not", Unit::kText, 0}}};
  for (const auto& tool : tools) {
    const Status met = memory::CheckNeeds(tool->needs(), trace);
    table.rows.push_back({std::string(tool->name()), std::string(met ? "yes" : "no"),
                          met ? std::string() : met.error().message()});
  }
  return table;
}

}  // namespace

MemoryResult MemorySummary(const Trace& trace, const MemoryTools& tools) {
  MemoryResult page;
  page.tables.push_back(RecordedTable(trace));
  if (!trace.coverage_counts.empty()) {
    page.tables.push_back(CoverageTable(trace));
  }
  page.tables.push_back(ToolTable(trace, tools));
  return page;
}

}  // namespace orrery::cli
