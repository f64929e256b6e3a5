#include "orrery/kernel/power.h"

#include <cstddef>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/byte_sink.h"
#include "orrery/base/data_type.h"
#include "orrery/base/error.h"
#include "orrery/calibrate/kernels/evaluation.h"
#include "orrery/calibrate/kernels/power_fit.h"
#include "orrery/cli/evaluate/output.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/verb.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/estimate.h"
#include "orrery/kernel/measurement.h"
#include "orrery/kernel/model_set.h"
#include "orrery/learn/metrics.h"

namespace orrery::cli {
namespace {

/// Shorter kernels do not heat a board; their times say nothing about its clock.
constexpr double kLeastSeconds = 10e-6;
constexpr std::size_t kMostRows = 6000;

struct FitPowerArguments {
  std::vector<std::string> paths;
  std::string output;
  OutputOptions document;
};

using Rows = std::vector<calibrate::SustainedRow>;

/// Sustained rows that are long enough, with their bursts by the shipped models, by GPU.
std::map<const hardware::Gpu*, Rows> RowsOfGpus(const kernel::ModelSet& models,
                                                std::span<const kernel::Measurement> all) {
  std::map<const hardware::Gpu*, Rows> rows_of_gpu;
  for (const kernel::Measurement& row : all) {
    if (row.is_sustained && row.seconds >= kLeastSeconds) {
      kernel::Estimate burst;
      models.PredictAs(row.timing, {&row.op, 1}, *row.gpu, {&burst, 1}, 1);
      rows_of_gpu[row.gpu].push_back({row, burst.seconds});
    }
  }
  return rows_of_gpu;
}

/// Tables of serving stacks have sustained times of other libraries than those of bursts. For
/// 16-bit GEMMs that makes little difference; for narrow types and attention it would pass for
/// power.
bool IsComparable(const kernel::Measurement& row) {
  return row.timing == kernel::Timing::kKernels ||
         (row.op.kind() == kernel::OperatorKind::kGemm && row.op.type() == DataType::kBf16);
}

/// As many as a fit needs, spread evenly.
Rows Spread(const Rows& rows) {
  Rows comparable;
  std::ranges::copy_if(rows, std::back_inserter(comparable), IsComparable,
                       &calibrate::SustainedRow::measured);
  Rows chosen;
  const std::size_t count = std::min(kMostRows, comparable.size());
  for (std::size_t i = 0; i < count; ++i) {
    chosen.push_back(comparable[i * comparable.size() / count]);
  }
  return chosen;
}

/// Half of the shapes are fitted and the others evaluated.
struct Halves {
  Rows fitted;
  Rows held_out;
};

Halves SplitInHalves(const Rows& rows) {
  Halves halves;
  for (const calibrate::SustainedRow& row : rows) {
    const bool is_held_out =
        learn::UnitInterval(learn::HashText(calibrate::DuplicateKey(row.measured.op), 1)) < 0.5;
    (is_held_out ? halves.held_out : halves.fitted).push_back(row);
  }
  return halves;
}

/// Times of bursts and of the fitted power, by operator and type.
struct Figures {
  learn::EvaluatedTimes burst;
  learn::EvaluatedTimes sustained;
};

using FiguresOfType = std::map<std::pair<std::string, std::string>, Figures>;

FiguresOfType Evaluate(const Rows& rows, const kernel::BoardPower& power,
                       const hardware::Gpu& gpu) {
  const kernel::SustainedClock clock(power, gpu.power_watts, gpu.power_watts);
  FiguresOfType figures;
  for (const auto& [measured, burst_seconds] : rows) {
    const double slowdown = clock.SlowdownAlone(kernel::LoadOf(measured.op, gpu, burst_seconds));
    Figures& of_type = figures[{std::string(SchemaOf(measured.op.kind()).name),
                                std::string(DataTypeName(measured.op.type()))}];
    of_type.burst.Add(burst_seconds, measured.seconds);
    of_type.sustained.Add(burst_seconds * slowdown, measured.seconds);
  }
  return figures;
}

std::string LineOf(const hardware::Gpu& gpu, const kernel::BoardPower& power, std::size_t rows) {
  return fmt::format(
      "  - {{gpu: {}, idle_w: {:.1f}, active_w: {:.1f}, tensor_w: {:.1f}, memory_w: {:.1f}, "
      "narrow: {:.3f}, burst_short: {:.3f}, burst_long: {:.3f}, rows: {}}}\n",
      gpu.name, power.idle_w, power.active_w, power.tensor_w, power.memory_w, power.narrow,
      power.burst_short, power.burst_long, rows);
}

void AddRows(const hardware::Gpu& gpu, const FiguresOfType& figures, Document::Table& table) {
  for (const auto& [key, of_type] : figures) {
    const auto& [name, type] = key;
    table.rows.push_back(MetricCells({gpu.name, name, type, "burst"}, of_type.burst.Evaluate()));
    table.rows.push_back(
        MetricCells({gpu.name, name, type, "sustained"}, of_type.sustained.Evaluate()));
  }
}

Result<int> FitPower(const FitPowerArguments& arguments) {
  ORRERY_TRY(const kernel::Measurements data, kernel::ReadMeasurements(arguments.paths));
  ORRERY_TRY(const kernel::ModelSet models, kernel::ShippedModels());
  std::string text =
      "# What boards draw, in watts at the highest clock (docs/formats/power.md), written by "
      "`orrery fit power`.\nboards:\n";
  Document document{.title = "Sustained times of shapes that were not fitted; errors in %",
                    .kind = "Orrery power"};
  Document::Table table{.columns = MetricColumns({"GPU", "operator", "type", "predicted"}),
                        .max_shown = SIZE_MAX};
  const std::map<const hardware::Gpu*, Rows> rows_of_gpu = RowsOfGpus(models, data.rows);
  if (rows_of_gpu.empty()) {
    return InvalidInput("{}: no sustained times of at least {:.0f} µs", arguments.paths.front(),
                        kLeastSeconds * 1e6);
  }
  for (const hardware::Gpu& gpu : hardware::GpuCatalogue()) {
    const auto found = rows_of_gpu.find(&gpu);
    if (found == rows_of_gpu.end()) {
      continue;
    }
    const Halves halves = SplitInHalves(found->second);
    AddRows(gpu, Evaluate(halves.held_out, calibrate::FitPower(Spread(halves.fitted), gpu), gpu),
            table);
    text += LineOf(gpu, calibrate::FitPower(Spread(found->second), gpu), found->second.size());
  }
  ORRERY_TRY_STATUS(WriteFile(arguments.output, text));
  document.AddSection().Add(std::move(table));
  ORRERY_TRY_STATUS(Deliver(document, arguments.document));
  return NoticeRejected(data);
}

}  // namespace

void AddFitPowerCommand(Verb& fit) {
  auto arguments = std::make_shared<FitPowerArguments>();
  Verb verb = fit.AddVerb("power", "What boards draw, from sustained times");
  verb.AddOption("DATA", arguments->paths,
                 "tables of `orrery measure power` or of aiconfigurator with watts")
      .Required();
  verb.AddOption("-o,--output FILE", arguments->output, "the file to write").Required();
  verb.OnRun([arguments] { return FitPower(*arguments); });
}

}  // namespace orrery::cli
