#include "orrery/cli/memory/overhead_tables.h"

#include <cstddef>
#include <numeric>

#include <fmt/core.h>

namespace orrery::cli {
namespace {

using memory::OverheadPart;
using memory::OverheadSummary;
using report::MemoryTable;
using report::MemoryUnit;
using trace::OverheadPhase;

double Ratio(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

Table::Cell RatioCell(std::int64_t part, std::int64_t whole) {
  return whole <= 0 ? Table::Cell() : Table::Cell(Ratio(part, whole));
}

// What recording adds, against what the first way of recording adds.
Table::Cell OverheadOverFirst(const RunOverhead& run, const RunOverhead& first) {
  if (!run.plain || !first.plain || first.plain->recorded_ns <= first.plain->plain_ns) {
    return {};
  }
  return Ratio(run.plain->recorded_ns - run.plain->plain_ns,
               first.plain->recorded_ns - first.plain->plain_ns);
}

}  // namespace

Table::Cell RunOverhead::OverExecution() const {
  return plain ? Table::Cell(plain->Slowdown())
               : RatioCell(summary.WholeNs(), summary.Of(OverheadPhase::kExecution).total_ns);
}

MemoryTable RunTable(const std::vector<RunOverhead>& runs, double tolerance_percent) {
  MemoryTable table{
      .key = "runs",
      .heading = "what recording cost",
      .columns = {{"run", "recording", MemoryUnit::kText},
                  {"total_ns", "total", MemoryUnit::kNanoseconds},
                  {"over_execution", "over execution", MemoryUnit::kRatio},
                  {"plain_ns", "without recording", MemoryUnit::kNanoseconds},
                  {"overhead_over_first", "overhead over the first's", MemoryUnit::kRatio},
                  {"over_first", "total over the first's", MemoryUnit::kRatio},
                  {"parts_ns", "sum of parts", MemoryUnit::kNanoseconds},
                  {"rest_ns", "not explained", MemoryUnit::kNanoseconds},
                  {"agrees", "parts and total", MemoryUnit::kText},
                  {"step_ns", "a step", MemoryUnit::kNanoseconds},
                  {"step_over_first", "a step over the first's", MemoryUnit::kRatio}},
      .caption =
          fmt::format("Total and parts are measured on their own; they agree when they are at "
                      "most {} % of the total apart. A recorder measures what it does on the "
                      "host, and adds up threads that work side by side; what patched kernels "
                      "take longer shows in the step alone: the "
                      "median of all but the first.",
                      tolerance_percent)};
  for (const RunOverhead& run : runs) {
    const OverheadSummary& summary = run.summary;
    const bool has_total = summary.total_ns.has_value();
    table.rows.push_back(
        {run.title, has_total ? Table::Cell(*summary.total_ns) : Table::Cell(), run.OverExecution(),
         run.plain ? Table::Cell(run.plain->plain_ns) : Table::Cell(),
         OverheadOverFirst(run, runs.front()),
         RatioCell(summary.WholeNs(), runs.front().summary.WholeNs()), summary.SumOfParts(),
         has_total ? Table::Cell(summary.RestNs()) : Table::Cell(),
         std::string(!has_total                          ? "no total"
                     : summary.Agrees(tolerance_percent) ? "agree"
                                                         : "differ"),
         run.step_ns == 0 ? Table::Cell() : Table::Cell(run.step_ns),
         RatioCell(run.step_ns, run.step_ns == 0 ? 0 : runs.front().step_ns)});
  }
  return table;
}

MemoryTable PartTable(const std::vector<RunOverhead>& runs) {
  MemoryTable table{.key = "parts",
                    .heading = "what recorders measured of themselves",
                    .columns = {{"run", "recording", MemoryUnit::kText},
                                {"part", "part", MemoryUnit::kText},
                                {"total_ns", "time", MemoryUnit::kNanoseconds},
                                {"share", "of the total", MemoryUnit::kShare},
                                {"count", "times", MemoryUnit::kCount},
                                {"bytes", "bytes", MemoryUnit::kBytes}}};
  for (const RunOverhead& run : runs) {
    const std::int64_t whole_ns = run.summary.WholeNs();
    for (std::size_t part = 0; part < memory::kNumOverheadParts; ++part) {
      const OverheadPart& row = run.summary.parts[part];
      table.rows.push_back(
          {run.title, std::string(memory::OverheadPhaseName(static_cast<OverheadPhase>(part))),
           row.total_ns, Ratio(row.total_ns, whole_ns), row.count, row.bytes});
    }
    if (run.summary.total_ns) {
      table.rows.push_back({run.title, std::string("not explained"), run.summary.RestNs(),
                            Ratio(run.summary.RestNs(), whole_ns)});
    }
  }
  return table;
}

MemoryTable PieceTable(const std::vector<RunOverhead>& runs) {
  MemoryTable table{.key = "pieces",
                    .heading = "where the time of recorded programs went",
                    .columns = {{"run", "recording", MemoryUnit::kText},
                                {"piece", "of", MemoryUnit::kText},
                                {"part", "part", MemoryUnit::kText},
                                {"part_ns", "time", MemoryUnit::kNanoseconds},
                                {"share", "share", MemoryUnit::kShare}},
                    .caption =
                        "Execution: without recording. Transfer, analysis and waiting: as the "
                        "recorder measured them. Collection: what these leave."};
  for (const RunOverhead& run : runs) {
    if (!run.plain) {
      continue;
    }
    const auto parts = memory::PartsOfPiece(run.summary, *run.plain);
    const std::int64_t whole_ns = std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
    const bool is_step = run.plain->piece == memory::TimedPiece::kStep;
    for (std::size_t part = 0; part < parts.size(); ++part) {
      table.rows.push_back(
          {run.title, std::string(is_step ? "step" : "all launches"),
           std::string(memory::OverheadPhaseName(static_cast<OverheadPhase>(part))), parts[part],
           Ratio(parts[part], whole_ns)});
    }
  }
  return table;
}

}  // namespace orrery::cli
