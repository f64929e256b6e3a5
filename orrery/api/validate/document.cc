#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/api/fields/documents.h"
#include "orrery/api/validate/output.h"
#include "orrery/api/validate/pictures.h"
#include "orrery/base/document/value.h"
#include "orrery/base/text/table.h"
#include "orrery/calibrate/validation.h"
#include "orrery/simulate/explain/baselines.h"
#include "orrery/simulate/explain/step_intervals.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/published/fitted_runs.h"
#include "orrery/workload/job/published/run_table.h"

namespace orrery::api {
namespace {

using calibrate::ErrorFigures;
using calibrate::ErrorGroup;
using calibrate::EvaluatedRun;
using calibrate::GroupKey;
using calibrate::Validation;

constexpr std::size_t kWorstRuns = 10;
constexpr std::size_t kShownReasons = 20;

struct KeyHeader {
  GroupKey key;
  const char* header;  // of a column
};

constexpr std::array<KeyHeader, 8> kKeys{{{GroupKey::kSource, "source"},
                                          {GroupKey::kStack, "stack"},
                                          {GroupKey::kTeam, "team"},
                                          {GroupKey::kRelease, "team and release"},
                                          {GroupKey::kGrade, "grade"},
                                          {GroupKey::kGpu, "GPU"},
                                          {GroupKey::kScale, "scale"},
                                          {GroupKey::kDimension, "parallelism"}}};

std::string FiguresText(const ErrorFigures& figures) {
  if (figures.simulated == 0) {
    return fmt::format("{} rows, none simulated", figures.rows);
  }
  return fmt::format(
      "{} rows, {} simulated; mean |error| {:.2f} %, median {:.2f} %, largest {:.1f} %, bias "
      "{:+.1f} %",
      figures.rows, figures.simulated, figures.mape, figures.median, figures.max, figures.bias);
}

Document::Table GroupTable(const Validation& validation, const KeyHeader& key) {
  Document::Table table{.columns = {{"", key.header, Unit::kText, 0},
                                    AsNumber("rows"),
                                    AsNumber("simulated"),
                                    Formatted("MAPE", NumberFormat("{:.2f}")),
                                    Formatted("median", NumberFormat("{:.2f}")),
                                    Formatted("max", NumberFormat("{:.1f}")),
                                    Formatted("bias", NumberFormat("{:+.1f}")),
                                    Formatted("in 80 %", NumberFormat("{:.0f}"))},
                        .max_shown = SIZE_MAX};
  for (const ErrorGroup& group : GroupsOf(validation, key.key)) {
    const ErrorFigures& figures = group.figures;
    std::vector<Value> cells{group.name, figures.rows, figures.simulated};
    if (figures.simulated > 0) {
      cells.insert(cells.end(),
                   {figures.mape, figures.median, figures.max, figures.bias, figures.coverage});
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

std::string PlanText(const workload::Job& job) {
  std::string text = fmt::format("{} x {}", job.gpus, job.gpu.name);
  for (const auto& [name, degree] : {std::pair("tp", job.plan.tp),
                                     {"pp", job.plan.pp},
                                     {"cp", job.plan.cp},
                                     {"dp", job.plan.dp},
                                     {"ep", job.plan.ep}}) {
    text += degree > 1 ? fmt::format(" {}{}", name, degree) : "";
  }
  return text;
}

Document::Table WorstTable(const Validation& validation) {
  Document::Table table{.columns = {AsText("", "worst rows", 0), AsText("", "model", 24),
                                    AsText("", "plan", 0),
                                    Formatted("measured s", NumberFormat("{:.4g}")),
                                    Formatted("predicted s", NumberFormat("{:.4g}")),
                                    Formatted("error %", NumberFormat("{:+.1f}", 100))}};
  for (const EvaluatedRun* evaluated : WorstRuns(validation, kWorstRuns)) {
    table.rows.push_back({evaluated->run.id, evaluated->run.job.model.name,
                          PlanText(evaluated->run.job), evaluated->run.measured_s,
                          evaluated->predicted_s, evaluated->Error()});
  }
  return table;
}

Document::Table RefusedTable(const Validation& validation) {
  Document::Table table{.columns = {AsNumber("refused"), AsText("", "reason", 100), AsText("e.g.")},
                        .max_shown = kShownReasons};
  for (const calibrate::RefusalGroup& group : RefusalsOf(validation)) {
    table.rows.push_back({group.rows, group.reason, group.first_id});
  }
  return table;
}

// The runs took place, so that each of these is a mistake of the model of memory.
std::string MemoryText(const Validation& validation) {
  const auto count = std::ranges::count(validation.evaluated, false, &EvaluatedRun::fits);
  return fmt::format("Memory    {} of {} simulated rows would not fit", count,
                     validation.evaluated.size());
}

std::string PeakText(const calibrate::MemoryFigures& figures) {
  return fmt::format(
      "Peak      {} rows with a measured peak of the last rank; mean |error| {:.2f} %, median "
      "{:.2f} %, largest {:.1f} %, bias {:+.1f} %",
      figures.rows, figures.mape, figures.median, figures.max, figures.bias);
}

Document::Table PeakTable(const Validation& validation) {
  Document::Table table{.columns = {{"", "peak of memory by GPU", Unit::kText, 0},
                                    AsNumber("rows"),
                                    Formatted("MAPE", NumberFormat("{:.2f}")),
                                    Formatted("median", NumberFormat("{:.2f}")),
                                    Formatted("max", NumberFormat("{:.1f}")),
                                    Formatted("bias", NumberFormat("{:+.1f}"))},
                        .max_shown = SIZE_MAX};
  for (const auto& [gpu, figures] : MemoryByGpu(validation)) {
    table.rows.push_back({gpu, figures.rows, figures.mape, figures.median, figures.max,
                          figures.bias});
  }
  return table;
}

// Beside the rows of a table that states peaks of memory.
void AddPeaks(const Validation& validation, Document::Section& section) {
  if (const auto figures = MemoryFiguresOf(validation); figures.rows > 0) {
    section.Say(PeakText(figures));
    section.Add(PeakTable(validation));
  }
}

Table ValidationTable(const Validation& validation) {
  constexpr Table::Type kText = Table::Type::kText;
  constexpr Table::Type kInteger = Table::Type::kInteger;
  constexpr Table::Type kNumber = Table::Type::kNumber;
  Table table({{"id", kText},
               {"source", kText},
               {"team", kText},
               {"release", kText},
               {"grade", kText},
               {"gpu", kText},
               {"gpus", kInteger},
               {"measured_s", kNumber},
               {"predicted_s", kNumber},
               {"low_s", kNumber},
               {"high_s", kNumber},
               {"error_percent", kNumber},
               {"fits", kInteger},
               {"peak_gb", kNumber},
               {"model_flops", kNumber},
               {"peak_flops", kNumber},
               {"roofline_s", kNumber},
               {"analytic_s", kNumber},
               {"stack", kText},
               {"gemms", kNumber},
               {"attention", kNumber},
               {"memory", kNumber},
               {"communication", kNumber},
               {"host", kNumber},
               {"unmeasured", kNumber},
               {"bubble", kNumber},
               {"utilisation", kNumber},
               {"experts", kInteger},
               {"several_islands", kInteger},
               {"fitted", kInteger},
               {"derived_from", kText},
               {"assumed", kText},
               {"refused", kText}});
  for (const EvaluatedRun& evaluated : validation.evaluated) {
    const auto& run = evaluated.run;
    const simulate::Baselines baselines = simulate::BaselinesOf(run.job);
    table.AddRow({run.id,
                  run.source,
                  run.team,
                  run.release,
                  run.grade,
                  run.job.gpu.name,
                  std::int64_t{run.job.gpus},
                  run.measured_s,
                  evaluated.predicted_s,
                  evaluated.interval.low_s,
                  evaluated.interval.high_s,
                  evaluated.Error() * 100,
                  std::int64_t{evaluated.fits},
                  static_cast<double>(evaluated.memory_bytes) / 1e9,
                  baselines.model_flops,
                  baselines.peak_flops,
                  baselines.roofline_s,
                  baselines.analytic_s,
                  run.stack,
                  evaluated.traits.shares[simulate::kGemms],
                  evaluated.traits.shares[simulate::kAttention],
                  evaluated.traits.shares[simulate::kMemory],
                  evaluated.traits.shares[simulate::kCommunication],
                  evaluated.traits.shares[simulate::kHost],
                  evaluated.traits.unmeasured,
                  evaluated.traits.bubble,
                  evaluated.traits.utilisation,
                  std::int64_t{evaluated.traits.has_experts},
                  std::int64_t{evaluated.traits.spans_islands},
                  std::int64_t{evaluated.traits.is_fitted},
                  run.derived_from.empty() ? Table::Cell() : Table::Cell(run.derived_from),
                  fmt::format("{}", fmt::join(run.assumptions, "; ")),
                  Table::Cell()});
  }
  for (const calibrate::RefusedRun& refused : validation.refused) {
    const workload::RunLabel& label = refused.label;
    std::vector<Table::Cell> cells{label.id, label.source, label.team, label.release, label.grade};
    cells.resize(table.num_columns());
    cells[*table.FindColumn("stack")] = label.stack;
    cells.back() = refused.reason;
    table.AddRow(std::move(cells));
  }
  return table;
}

void SayWhatWasSeen(const Validation& validation, const workload::FittedRuns& runs,
                    Document::Section& section) {
  section.Say("In sample " + FiguresText(FiguresOf(PartOf(validation, runs, true))));
  section.Say("Held out  " + FiguresText(FiguresOf(PartOf(validation, runs, false))));
}

}  // namespace

Document ValidationDocument(const Validation& validation, const FitNote& fit) {
  const ErrorFigures figures = FiguresOf(validation);
  Document document{.kind = fmt::format("Orrery validation, {}", fit.word)};
  Document::Section& section = document.AddSection();
  section.Say(fmt::format("Fit       {}", fit.sentence));
  section.Say("All       " + FiguresText(figures));
  const Validation headline = HeadlineOf(validation);
  if (headline.rows > 0 && headline.rows < validation.rows) {
    section.Say("A and A-  " + FiguresText(FiguresOf(headline)));
  }
  if (fit.runs != nullptr) {
    SayWhatWasSeen(validation, *fit.runs, section);
  }
  section.Say(MemoryText(validation));
  if (figures.simulated > 0) {
    section.Say(fmt::format("Interval  {:.0f} % of the measured steps are in the 80 % interval",
                            figures.coverage));
  }
  AddPeaks(validation, section);
  std::ranges::move(ValidationPictures(validation), std::back_inserter(section.blocks));
  for (const KeyHeader& key : kKeys) {
    section.Add(GroupTable(validation, key));
  }
  section.Add(WorstTable(validation));
  if (!validation.refused.empty()) {
    section.Add(RefusedTable(validation));
  }
  document.sheets.emplace_back("rows", ValidationTable(validation));
  return document;
}

}  // namespace orrery::api
