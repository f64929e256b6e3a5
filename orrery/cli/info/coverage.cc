#include <cstddef>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "orrery/cli/info/output.h"
#include "orrery/draw/json_writer.h"
#include "orrery/draw/number_format.h"
#include "orrery/draw/text_table.h"
#include "orrery/memory/coverage.h"
#include "orrery/memory/overhead.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::cli {
namespace {

using draw::FormatCount;
using draw::TextTable;
using Align = TextTable::Align;

void AddRank(const trace::Trace& rank, TextTable& table) {
  const std::string number = std::to_string(rank.info.rank);
  const memory::LaunchCoverage seen = memory::CoverageOf(rank);
  for (std::size_t i = 0; i < memory::kNumCoverages; ++i) {
    const auto coverage = static_cast<trace::Coverage>(i);
    if (!rank.observations.empty() && seen.Of(coverage).num_launches > 0) {
      table.AddRow({number, fmt::format("kernels {}", memory::CoverageName(coverage)),
                    FormatCount(seen.Of(coverage).num_launches),
                    draw::FormatDuration({seen.Of(coverage).time_ns})});
    }
  }
  const trace::CoverageCounts& counts = rank.coverage_counts;
  for (RowId row = 0; row < counts.size(); ++row) {
    table.AddRow({number, std::string(memory::CoverageKindName(counts.kind[row])),
                  FormatCount(counts.count[row]), std::string(rank.Text(counts.name[row]))});
  }
}

void WriteCount(draw::JsonWriter& json, const trace::Trace& rank, RowId row) {
  const trace::CoverageCounts& counts = rank.coverage_counts;
  json.BeginObject();
  json.Key("kind").String(memory::CoverageKindName(counts.kind[row]));
  json.Key("name").String(rank.Text(counts.name[row]));
  json.Key("count").Integer(counts.count[row]);
  json.EndObject();
}

void WriteOverhead(draw::JsonWriter& json, const trace::Overheads& overheads, RowId row) {
  json.BeginObject();
  json.Key("phase").String(memory::OverheadPhaseName(overheads.phase[row]));
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
  const memory::LaunchCoverage seen = memory::CoverageOf(rank);
  for (std::size_t i = 0; i < memory::kNumCoverages; ++i) {
    const auto coverage = static_cast<trace::Coverage>(i);
    json.Key(memory::CoverageName(coverage)).BeginObject();
    json.Key("count").Integer(seen.Of(coverage).num_launches);
    json.Key("time_ns").Integer(seen.Of(coverage).time_ns);
    json.EndObject();
  }
  json.EndObject();
  json.Key("counts").BeginArray();
  for (RowId row = 0; row < rank.coverage_counts.size(); ++row) {
    WriteCount(json, rank, row);
  }
  json.EndArray();
  json.Key("overhead").BeginArray();
  for (RowId row = 0; row < rank.overheads.size(); ++row) {
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
