#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "orrery/cli/info_output.h"
#include "orrery/draw/json_writer.h"
#include "orrery/draw/number_format.h"
#include "orrery/draw/text_table.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::cli {
namespace {

using draw::FormatCount;
using draw::TextTable;
using Align = TextTable::Align;

constexpr std::array<std::string_view, 5> kCoverageNames{"exact", "by argument", "by descriptor",
                                                         "partial", "unseen"};

constexpr std::array<std::string_view, 9> kKindNames{"other",
                                                     "instruction patched",
                                                     "launches skipped",
                                                     "records dropped",
                                                     "unknown addresses",
                                                     "instructions unseen",
                                                     "contexts not covered",
                                                     "graphs not covered",
                                                     "launches merged"};

constexpr std::array<std::string_view, 6> kPhaseNames{"execution", "collection", "transfer",
                                                      "analysis",  "waiting",    "total"};

struct Seen {
  std::int64_t num_kernels = 0;
  std::int64_t time_ns = 0;
};

// Kernels only: copies and sets say themselves what they touch.
std::array<Seen, kCoverageNames.size()> KernelsByCoverage(const trace::Trace& rank) {
  std::array<Seen, kCoverageNames.size()> seen{};
  for (trace::RowId row = 0; row < rank.observations.size(); ++row) {
    const trace::RowId activity = rank.observations.activity[row];
    if (activity != trace::kNoRow &&
        rank.activities.kind[activity] == trace::ActivityKind::kKernel) {
      Seen& of_coverage = seen[static_cast<std::size_t>(rank.observations.coverage[row])];
      ++of_coverage.num_kernels;
      of_coverage.time_ns += rank.activities.duration_ns[activity];
    }
  }
  return seen;
}

void AddRank(const trace::Trace& rank, TextTable& table) {
  const std::string number = std::to_string(rank.info.rank);
  const auto seen = KernelsByCoverage(rank);
  for (std::size_t coverage = 0; coverage < seen.size(); ++coverage) {
    if (seen[coverage].num_kernels > 0) {
      table.AddRow({number, fmt::format("kernels {}", kCoverageNames[coverage]),
                    FormatCount(seen[coverage].num_kernels),
                    draw::FormatDuration({seen[coverage].time_ns})});
    }
  }
  const trace::CoverageCounts& counts = rank.coverage_counts;
  for (trace::RowId row = 0; row < counts.size(); ++row) {
    table.AddRow({number, std::string(kKindNames[static_cast<std::size_t>(counts.kind[row])]),
                  FormatCount(counts.count[row]), std::string(rank.Text(counts.name[row]))});
  }
}

void WriteCount(draw::JsonWriter& json, const trace::Trace& rank, trace::RowId row) {
  const trace::CoverageCounts& counts = rank.coverage_counts;
  json.BeginObject();
  json.Key("kind").String(kKindNames[static_cast<std::size_t>(counts.kind[row])]);
  json.Key("name").String(rank.Text(counts.name[row]));
  json.Key("count").Integer(counts.count[row]);
  json.EndObject();
}

void WriteOverhead(draw::JsonWriter& json, const trace::Overheads& overheads, trace::RowId row) {
  json.BeginObject();
  json.Key("phase").String(kPhaseNames[static_cast<std::size_t>(overheads.phase[row])]);
  json.Key("total_ns").Integer(overheads.total_ns[row]);
  json.Key("count").Integer(overheads.count[row]);
  json.Key("bytes").Integer(overheads.bytes[row]);
  json.EndObject();
}

}  // namespace

void WriteCoverage(draw::JsonWriter& json, const trace::Trace& rank) {
  if (rank.observations.empty() && rank.coverage_counts.empty() && rank.overheads.empty()) {
    return;
  }
  json.Key("coverage").BeginObject();
  json.Key("kernels").BeginObject();
  const auto seen = KernelsByCoverage(rank);
  for (std::size_t coverage = 0; coverage < seen.size(); ++coverage) {
    json.Key(kCoverageNames[coverage]).BeginObject();
    json.Key("count").Integer(seen[coverage].num_kernels);
    json.Key("time_ns").Integer(seen[coverage].time_ns);
    json.EndObject();
  }
  json.EndObject();
  json.Key("counts").BeginArray();
  for (trace::RowId row = 0; row < rank.coverage_counts.size(); ++row) {
    WriteCount(json, rank, row);
  }
  json.EndArray();
  json.Key("overhead").BeginArray();
  for (trace::RowId row = 0; row < rank.overheads.size(); ++row) {
    WriteOverhead(json, rank.overheads, row);
  }
  json.EndArray();
  json.EndObject();
}

std::string CoverageText(const std::vector<trace::Trace>& ranks) {
  TextTable table({{.header = "rank", .align = Align::kRight},
                   {.header = "what"},
                   {.header = "count", .align = Align::kRight},
                   {.header = "time or name", .max_width = 60}});
  bool any = false;
  for (const trace::Trace& rank : ranks) {
    any = any || !rank.observations.empty() || !rank.coverage_counts.empty();
    AddRank(rank, table);
  }
  return any ? fmt::format("\nmemory coverage\n{}", draw::Indented(table.Render(), 2)) : "";
}

}  // namespace orrery::cli
