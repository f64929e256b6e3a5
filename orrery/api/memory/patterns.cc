#include "orrery/memory/patterns/patterns.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/fields/documents.h"
#include "orrery/api/memory/group_by.h"
#include "orrery/api/memory/tool.h"
#include "orrery/base/columns.h"
#include "orrery/base/document/value.h"
#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/chart/charts.h"
#include "orrery/draw/format.h"
#include "orrery/memory/coverage.h"
#include "orrery/memory/timeline/attribution.h"
#include "orrery/trace/trace.h"

namespace orrery::api {
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

Document::Table FindingTable(const trace::Trace& trace, const PatternReport& found) {
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
      .max_shown = 0};
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

/// Findings of one pattern on objects of one size from one site, the one with most effect first.
using FindingGroup = std::vector<const Finding*>;

// In the order of the findings, which is by effect.
std::vector<FindingGroup> GroupsOf(const trace::Trace& trace, const PatternReport& found) {
  return GroupBy(found.findings, [&](const Finding& finding) {
    return std::tuple(finding.pattern, finding.is_fact, finding.bytes,
                      SiteOfObject(trace, finding.object));
  });
}

Document::Table GroupTable(const trace::Trace& trace, const std::vector<FindingGroup>& groups,
                           std::size_t top) {
  Document::Table table{
      .key = "finding_groups",
      .heading = "findings by effect, grouped by allocation site",
      .columns = {AsText("pattern", "pattern"), AsText("certain", "certain"),
                  AsCount("objects", "objects"), AsBytes("bytes", "bytes each"),
                  AsBytes("peak_saved_bytes", "off the peak by one"),
                  AsText("site", "allocated in"), AsText("suggestion", "suggestion")},
      .max_shown = top};
  for (const FindingGroup& group : groups) {
    const std::vector<Value> first = RowOf(trace, *group.front());
    table.rows.push_back(
        {first[0], first[1], std::ssize(group), first[3], first[4], first.back(), first[7]});
  }
  return table;
}

std::string GroupLabel(const trace::Trace& trace, const FindingGroup& group) {
  return fmt::format("{}{} at {}", group.size() == 1 ? "" : fmt::format("{} × ", group.size()),
                     draw::FormatBinaryBytes({group.front()->bytes}),
                     SiteOfObject(trace, group.front()->object));
}

std::string SeriesName(const Finding& finding) {
  return fmt::format("{}, {}", PatternName(finding.pattern),
                     finding.is_fact ? "certain" : "possible");
}

Document::Picture PictureOf(const trace::Trace& trace, const std::vector<FindingGroup>& groups,
                            std::size_t top) {
  std::vector<std::string> names;
  std::vector<const FindingGroup*> drawn;
  for (const FindingGroup& group : groups) {
    if (drawn.size() == top || group.front()->peak_saved_bytes == 0) {
      break;
    }
    drawn.push_back(&group);
    if (const std::string name = SeriesName(*group.front());
        std::ranges::find(names, name) == names.end()) {
      names.push_back(name);
    }
  }
  draw::StackedBars bars{.series = draw::CategorySeries(names),
                         .quantity = draw::Quantity::kBinaryBytes,
                         .description = "Bytes that findings take off the peak"};
  for (const FindingGroup* const group : drawn) {
    draw::StackedBar bar{.label = GroupLabel(trace, *group),
                         .values = std::vector<double>(names.size()),
                         .note = draw::FormatBinaryBytes({group->front()->peak_saved_bytes})};
    const auto series = std::ranges::find(names, SeriesName(*group->front())) - names.begin();
    bar.values[static_cast<std::size_t>(series)] =
        static_cast<double>(group->front()->peak_saved_bytes);
    bars.bars.push_back(std::move(bar));
  }
  return {.heading = "What would lower the peak",
          .svg = bars.bars.empty() ? "" : draw::RenderStackedBars(bars),
          .caption =
              "Bytes off the peak if one of these objects, and no other, had another lifetime. "
              "Objects of one size from one allocation site share a bar.",
          .legend = bars.series};
}

MemoryToolResult PageOf(const MemoryInput& input, const memory::patterns::PatternOptions& options) {
  const trace::Trace& trace = input.trace();
  const PatternReport found = memory::patterns::FindPatterns(trace, options);
  std::int64_t num_facts = 0;
  for (const Finding& finding : found.findings) {
    num_facts += finding.is_fact ? 1 : 0;
  }
  MemoryToolResult page;
  page.facts = {{"objects", "objects looked at", found.num_objects},
                {"peak_bytes", "peak of these objects", found.peak_bytes, Unit::kBytes},
                {"facts", "certain findings", num_facts},
                {"possible", "possible findings",
                 static_cast<std::int64_t>(found.findings.size()) - num_facts}};
  const std::vector<FindingGroup> groups = GroupsOf(trace, found);
  page.tables = {FindingTable(trace, found), GroupTable(trace, groups, input.top),
                 TotalTable(found)};
  page.pictures = {PictureOf(trace, groups, input.top)};
  page.sentences = {
      "A finding is possible, not certain, where launches in the life of its object were not "
      "fully seen, or where its life goes beyond the recording: no access seen is not no access.",
      "What is known by argument or descriptor counts as an access. Savings are those of one "
      "finding alone; they do not add up."};
  return page;
}

}  // namespace

MemoryTool PatternsTool(const MemoryRequest& request) {
  const memory::patterns::PatternOptions options{.min_bytes = request.min_bytes,
                                                 .idle_launches = request.idle_launches,
                                                 .leak_steps = request.leak_steps,
                                                 .similar_percent = request.similar,
                                                 .touched_percent = request.touched,
                                                 .uneven_variation = request.uneven};
  return {
      .name = "patterns",
      .line = "memory that is wasted: unused, early, late, idle, written twice, and what it costs",
      .first_field = "min_bytes",
      .last_field = "uneven",
      .needs = {memory::Need::kObjects, memory::Need::kTouches},
      .run_whole = [options](const MemoryInput& input) { return PageOf(input, options); }};
}

}  // namespace orrery::api
