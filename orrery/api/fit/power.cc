#include "orrery/kernel/power.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/cancellation.h"
#include "orrery/api/errors.h"
#include "orrery/api/evaluate/error_tables.h"
#include "orrery/api/fields.h"
#include "orrery/api/fields/documents.h"
#include "orrery/api/fit.h"
#include "orrery/api/fit/input.h"
#include "orrery/api/session.h"
#include "orrery/api/session_state.h"
#include "orrery/base/data_type.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_sink.h"
#include "orrery/calibrate/kernels/evaluation.h"
#include "orrery/calibrate/kernels/power_fit.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/estimate.h"
#include "orrery/kernel/measured/measurement.h"
#include "orrery/kernel/model_set.h"
#include "orrery/kernel/operator.h"
#include "orrery/learn/data_set.h"
#include "orrery/learn/metrics.h"

namespace orrery::api {
namespace {

/// Shorter kernels do not heat a board; their times say nothing about its clock.
constexpr double kLeastSeconds = 10e-6;
constexpr std::size_t kMostRows = 6000;

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

FittedBoard BoardOf(const hardware::Gpu& gpu, const Rows& rows) {
  const kernel::BoardPower power = calibrate::FitPower(Spread(rows), gpu);
  return {.gpu = gpu.name,
          .idle_w = power.idle_w,
          .active_w = power.active_w,
          .tensor_w = power.tensor_w,
          .memory_w = power.memory_w,
          .narrow = power.narrow,
          .burst_short = power.burst_short,
          .burst_long = power.burst_long,
          .rows = static_cast<std::int64_t>(rows.size())};
}

FitPowerErrors ErrorsOf(const hardware::Gpu& gpu, const FiguresOfType::key_type& key,
                        std::string predicted, const learn::Evaluation& metrics) {
  return {.gpu = gpu.name,
          .op = key.first,
          .type = key.second,
          .predicted = std::move(predicted),
          .rows = static_cast<std::int64_t>(metrics.rows),
          .mape = metrics.mape,
          .gmae = metrics.gmae,
          .median = metrics.median,
          .p95 = metrics.p95,
          .within_10 = metrics.within_10,
          .bias = metrics.bias,
          .r2 = metrics.r2_of_logs};
}

/// Fits half of the shapes, and evaluates the fit on the others.
void AddErrors(const hardware::Gpu& gpu, const Rows& rows, FitPowerResult& result) {
  const Halves halves = SplitInHalves(rows);
  const kernel::BoardPower power = calibrate::FitPower(Spread(halves.fitted), gpu);
  for (const auto& [key, of_type] : Evaluate(halves.held_out, power, gpu)) {
    result.errors.push_back(ErrorsOf(gpu, key, "burst", of_type.burst.Evaluate()));
    result.errors.push_back(ErrorsOf(gpu, key, "sustained", of_type.sustained.Evaluate()));
  }
}

std::string FileText(const std::vector<FittedBoard>& boards) {
  std::string text =
      "# What boards draw, in watts at the highest clock (docs/formats/power.md), written by "
      "`orrery fit power`.\nboards:\n";
  for (const FittedBoard& board : boards) {
    text += fmt::format(
        "  - {{gpu: {}, idle_w: {:.1f}, active_w: {:.1f}, tensor_w: {:.1f}, memory_w: {:.1f}, "
        "narrow: {:.3f}, burst_short: {:.3f}, burst_long: {:.3f}, rows: {}}}\n",
        board.gpu, board.idle_w, board.active_w, board.tensor_w, board.memory_w, board.narrow,
        board.burst_short, board.burst_long, board.rows);
  }
  return text;
}

Result<FitPowerResult> Run(const Session& session, const FitPowerRequest& request) {
  ORRERY_TRY_STATUS(CheckPaths(request.paths));
  ORRERY_TRY_STATUS(CheckOutput(request.output));
  ORRERY_TRY(const kernel::Measurements data, kernel::ReadMeasurements(request.paths));
  ORRERY_TRY(const std::shared_ptr<const kernel::ModelSet> models, session.state().Models({}));
  const std::map<const hardware::Gpu*, Rows> rows_of_gpu = RowsOfGpus(*models, data.rows);
  if (rows_of_gpu.empty()) {
    return InvalidInput("{}: no sustained times of at least {:.0f} µs", request.paths.front(),
                        kLeastSeconds * 1e6);
  }
  FitPowerResult result{.output = request.output};
  for (const hardware::Gpu& gpu : hardware::GpuCatalogue()) {
    const auto found = rows_of_gpu.find(&gpu);
    if (found != rows_of_gpu.end()) {
      AddErrors(gpu, found->second, result);
      result.boards.push_back(BoardOf(gpu, found->second));
    }
  }
  ORRERY_TRY_STATUS(WriteFile(request.output, FileText(result.boards)));
  NoteRejected(data, result);
  return result;
}

learn::Evaluation MetricsOf(const FitPowerErrors& errors) {
  return {.rows = static_cast<std::size_t>(errors.rows),
          .mape = errors.mape,
          .gmae = errors.gmae,
          .median = errors.median,
          .p95 = errors.p95,
          .bias = errors.bias,
          .within_10 = errors.within_10,
          .r2_of_logs = errors.r2};
}

}  // namespace

Result<FitPowerResult> FitPower(const Session& session, const FitPowerRequest& request) {
  return RunCancellable(request.call, [&] { return Run(session, request); });
}

Document MakeDocument(const FitPowerResult& result) {
  Document document{.title = "Sustained times of shapes that were not fitted; errors in %",
                    .kind = "Orrery power"};
  Document::Table table{.columns = MetricColumns({"GPU", "operator", "type", "predicted"}),
                        .max_shown = SIZE_MAX};
  for (const FitPowerErrors& errors : result.errors) {
    table.rows.push_back(
        MetricCells({errors.gpu, errors.op, errors.type, errors.predicted}, MetricsOf(errors)));
  }
  document.AddSection().Add(std::move(table));
  document.data = ToObject(result);
  return document;
}

}  // namespace orrery::api
