#include <cstddef>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "orrery/cli/info_output.h"
#include "orrery/draw/number_format.h"
#include "orrery/draw/text_table.h"
#include "orrery/memory/coverage.h"
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
  for (trace::RowId row = 0; row < counts.size(); ++row) {
    table.AddRow({number, std::string(memory::CoverageKindName(counts.kind[row])),
                  FormatCount(counts.count[row]), std::string(rank.Text(counts.name[row]))});
  }
}

}  // namespace

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
