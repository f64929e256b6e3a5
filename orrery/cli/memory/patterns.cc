#include "orrery/memory/patterns/patterns.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "orrery/cli/memory/tool.h"
#include "orrery/cli/verb.h"
#include "orrery/draw/chart/charts.h"
#include "orrery/draw/format.h"
#include "orrery/memory/timeline/attribution.h"

namespace orrery::cli {
namespace {

using memory::patterns::Finding;
using memory::patterns::kNumPatterns;
using memory::patterns::Pattern;
using memory::patterns::PatternReport;

Value ObjectCell(const trace::Trace& trace, RowId object) {
  return object == kNoRow ? Value() : Value(trace.memory_objects.id[object]);
}

std::string SiteOfObject(const trace::Trace& trace, RowId object) {
  const trace::MemoryObjects& objects = trace.memory_objects;
  return memory::timeline::SiteText(trace, {.is_from_before = objects.birth_order[object] < 0,
                                            .object = object,
                                            .host_op = objects.host_op[object],
                                            .name = objects.name[object],
                                            .call_stack = objects.call_stack[object]});
}

std::vector<Value> RowOf(const trace::Trace& trace, const Finding& finding) {
  const bool is_traffic = finding.traffic_saved_bytes > 0;
  return {std::string(PatternName(finding.pattern)),
          std::string(finding.is_fact ? "yes" : "possible"),
          ObjectCell(trace, finding.object),
          finding.bytes,
          finding.peak_saved_bytes,
          finding.byte_seconds_saved,
          is_traffic ? Value(finding.traffic_saved_bytes) : Value(),
          std::string(Suggestion(finding.pattern)),
          finding.detail + (finding.is_fact || finding.detail.empty() ? "" : "; ") +
              finding.why_not_fact,
          ObjectCell(trace, finding.other),
          SiteOfObject(trace, finding.object)};
}

Document::Table FindingTable(const trace::Trace& trace, const PatternReport& found,
                             std::size_t top) {
  Document::Table table{
      .key = "findings",
      .heading = "findings by effect",
      .columns = {AsText("pattern", "pattern"), AsText("certain", "certain"),
                  AsCount("object", "object"), AsBytes("bytes", "bytes"),
                  AsBytes("peak_saved_bytes", "off the peak"),
                  AsBytes("saved_byte_seconds", "bytes × seconds"),
                  AsBytes("traffic_saved_bytes", "traffic"), AsText("suggestion", "suggestion"),
                  AsText("why", "because"), AsCount("other_object", "other object"),
                  AsText("site", "allocated in")},
      .max_shown = top};
  for (const Finding& finding : found.findings) {
    table.rows.push_back(RowOf(trace, finding));
  }
  return table;
}

struct PatternTotal {
  std::int64_t num_facts = 0;
  std::int64_t num_possible = 0;
  std::int64_t bytes = 0;
  std::int64_t largest_saving = 0;
};

Document::Table TotalTable(const PatternReport& found) {
  Document::Table table{
      .key = "patterns",
      .heading = "by pattern",
      .columns = {AsText("pattern", "pattern"), AsCount("facts", "certain"),
                  AsCount("possible", "possible"), AsBytes("bytes", "bytes"),
                  AsBytes("largest_peak_saved_bytes", "most off the peak, by one object")}};
  std::array<PatternTotal, kNumPatterns> totals;
  for (const Finding& finding : found.findings) {
    PatternTotal& total = totals[static_cast<std::size_t>(finding.pattern)];
    ++(finding.is_fact ? total.num_facts : total.num_possible);
    total.bytes += finding.bytes;
    total.largest_saving = std::max(total.largest_saving, finding.peak_saved_bytes);
  }
  for (std::size_t pattern = 0; pattern < kNumPatterns; ++pattern) {
    const PatternTotal& total = totals[pattern];
    table.rows.push_back({std::string(PatternName(static_cast<Pattern>(pattern))), total.num_facts,
                          total.num_possible, total.bytes, total.largest_saving});
  }
  return table;
}

Document::Picture PictureOf(const trace::Trace& trace, const PatternReport& found,
                            std::size_t top) {
  draw::StackedBars bars{
      .series = {{.name = "certain", .style = "compute"}, {.name = "possible", .style = "other"}},
      .quantity = draw::Quantity::kBinaryBytes,
      .description = "Bytes that findings take off the peak"};
  for (const Finding& finding : found.findings) {
    if (bars.bars.size() == top || finding.peak_saved_bytes == 0) {
      break;
    }
    const auto bytes = static_cast<double>(finding.peak_saved_bytes);
    bars.bars.push_back({.label = fmt::format("{}, object {}", PatternName(finding.pattern),
                                              trace.memory_objects.id[finding.object]),
                         .values = {finding.is_fact ? bytes : 0, finding.is_fact ? 0 : bytes},
                         .note = draw::FormatBinaryBytes({finding.peak_saved_bytes})});
  }
  return {.heading = "What would lower the peak",
          .svg = bars.bars.empty() ? "" : draw::RenderStackedBars(bars),
          .caption = "Bytes off the peak if only this object had another lifetime.",
          .legend = bars.series};
}

MemoryResult PageOf(const MemoryInput& input, const memory::patterns::PatternOptions& options) {
  const trace::Trace& trace = input.trace();
  const PatternReport found = memory::patterns::FindPatterns(trace, options);
  std::int64_t num_facts = 0;
  for (const Finding& finding : found.findings) {
    num_facts += finding.is_fact ? 1 : 0;
  }
  MemoryResult page;
  page.facts = {{"objects", "objects looked at", found.num_objects},
                {"peak_bytes", "peak of these objects", found.peak_bytes, Unit::kBytes},
                {"facts", "certain findings", num_facts},
                {"possible", "possible findings",
                 static_cast<std::int64_t>(found.findings.size()) - num_facts}};
  page.tables = {FindingTable(trace, found, input.top), TotalTable(found)};
  page.pictures = {PictureOf(trace, found, input.top)};
  page.sentences = {
      "A finding is possible, not certain, where launches in the life of its object were not "
      "fully seen, or where its life goes beyond the recording: no access seen is not no access.",
      "What is known by argument or descriptor counts as an access. Savings are those of one "
      "finding alone; they do not add up."};
  return page;
}

}  // namespace

MemoryTool PatternsTool() {
  const auto options = std::make_shared<memory::patterns::PatternOptions>();
  const auto add_options = [options](Verb& verb) {
    verb.AddOption("--min-bytes", options->min_bytes, "leave smaller objects out")
        .ShowDefault()
        .NonNegative();
    verb.AddOption("--idle-launches", options->idle_launches,
                   "idle: accesses more than so many launches, memcpys and memsets apart")
        .ShowDefault()
        .NonNegative();
    verb.AddOption("--leak-steps", options->leak_steps,
                   "leak: not accessed during the last so many steps")
        .ShowDefault()
        .Positive();
    verb.AddOption("--similar", options->similar_percent,
                   "redundant: at most so many percent smaller than the idle object")
        .ShowDefault()
        .Range(0.0, 1000.0);
    verb.AddOption("--touched", options->touched_percent,
                   "overallocated: less than so many percent touched")
        .ShowDefault()
        .Range(0.0, 100.0);
    verb.AddOption("--uneven", options->uneven_variation,
                   "uneven: accesses of pages deviate by more than so many times their mean")
        .ShowDefault()
        .NonNegative();
  };
  return {
      .name = "patterns",
      .line = "memory that is wasted: unused, early, late, idle, written twice, and what it costs",
      .needs = {memory::Need::kObjects, memory::Need::kTouches},
      .add_options = add_options,
      .run_whole = [options](const MemoryInput& input) { return PageOf(input, *options); }};
}

}  // namespace orrery::cli
