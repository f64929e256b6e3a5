#include "orrery/calibrate/collectives/calibration.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/error.h"
#include "orrery/calibrate/collectives/constants_fit.h"
#include "orrery/collective/algorithm.h"
#include "orrery/collective/closed_form.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/machine_models.h"
#include "orrery/collective/measurement.h"
#include "orrery/collective/monotone_times.h"
#include "orrery/collective/nccl/nccl_settings.h"
#include "orrery/collective/nccl/tuner.h"
#include "orrery/collective/nccl/tuner_tables.h"
#include "orrery/hardware/cluster.h"
#include "orrery/hardware/gpu.h"
#include "orrery/learn/metrics.h"

namespace orrery::calibrate {
namespace {

using collective::AllTunerTables;
using collective::Constant;
using collective::FindTunerTables;
using collective::FormsOfMachine;
using collective::kHeavyBytes;
using collective::kLeastBytes;
using collective::MachineModel;
using collective::MachineModels;
using collective::Measurement;
using collective::ModelMatch;
using collective::NcclSettings;
using collective::NewestTunerTables;
using collective::ParseNcclSettings;
using collective::Predict;
using collective::Prediction;
using collective::PriorOf;
using collective::Tune;
using collective::TunerTables;
using collective::Tuning;

/// With fewer rows the defaults are kept.
constexpr std::size_t kFewestRows = 4;
/// Fewer do not tell ten constants apart: they say more about a run than about its machine.
constexpr std::size_t kRowsOfItsOwn = 30;
constexpr std::int64_t kLargeBytes = 4'000'000;
constexpr double kOutlierError = 0.3;

/// Settings to try besides the version. Trees move half the bytes of rings between two nodes, and
/// not every network keeps the order that LL128 needs; network plugins account for both.
const std::array<std::string, 4>& SettingsToTry() {
  static const std::array<std::string, 4> settings = {
      "", "NCCL_PROTO=^LL128", "NCCL_ALGO=allreduce:Tree,NVLSTree",
      "NCCL_ALGO=allreduce:Tree,NVLSTree NCCL_PROTO=^LL128"};
  return settings;
}

Result<NcclSettings> SettingsFor(const Measurement& row, const std::string& assumed) {
  const bool is_told = row.settings != NcclSettings();
  return is_told || row.fabric.nodes == 1 ? row.settings : ParseNcclSettings(assumed);
}

Result<std::vector<TunedRow>> TunedRows(std::span<const Measurement* const> rows,
                                        const TunerTables& tables, const std::string& assumed) {
  std::vector<TunedRow> tuned;
  tuned.reserve(rows.size());
  for (const Measurement* row : rows) {
    ORRERY_TRY(const NcclSettings settings, SettingsFor(*row, assumed));
    ORRERY_TRY(const Tuning tuning, Tune(row->fabric, row->request, settings, tables));
    tuned.push_back({row, {tuning.choice().algorithm, tuning.choice().protocol}});
  }
  return tuned;
}

struct FitOfVersion {
  MachineModel model;
  std::vector<Constant> at_bounds;
  double loss = 0;
};

Result<FitOfVersion> FitWith(std::span<const Measurement* const> rows, const TunerTables& tables,
                             const std::string& assumed) {
  ORRERY_TRY(const std::vector<TunedRow> tuned, TunedRows(rows, tables, assumed));
  ConstantsFit best = FitConstants(tuned, tables, PriorOf(*rows.front()->cluster));
  FitOfVersion fit;
  fit.loss = best.loss;
  fit.at_bounds = std::move(best.at_bounds);
  fit.model.nccl_version = tables.version;
  fit.model.assumed_settings = assumed;
  fit.model.constants = best.constants;
  fit.model.fitted = std::move(best.fitted);
  std::ranges::sort(fit.model.fitted);
  return fit;
}

/// The versions to try: that of the rows, else all.
Result<std::vector<const TunerTables*>> VersionsOf(std::span<const Measurement* const> rows) {
  const std::string& first = rows.front()->nccl_version;
  const bool is_one =
      std::ranges::all_of(rows, [&](const Measurement* row) { return row->nccl_version == first; });
  if (!first.empty() && is_one) {
    ORRERY_TRY(const TunerTables* told, FindTunerTables(rows.front()->nccl_version));
    return std::vector<const TunerTables*>{told};
  }
  std::vector<const TunerTables*> all;
  for (const TunerTables& tables : AllTunerTables()) {
    all.push_back(&tables);
  }
  return all;
}

/// The root mean square of numbers.
class Deviation {
 public:
  void Add(double value) {
    squares_ += value * value;
    ++count_;
  }

  [[nodiscard]] double value() const {
    return count_ == 0 ? 0 : std::sqrt(squares_ / static_cast<double>(count_));
  }

 private:
  double squares_ = 0;
  std::size_t count_ = 0;
};

Status EvaluateCollectives(std::span<const Measurement* const> rows,
                           MachineCalibration& calibration) {
  learn::EvaluatedTimes all;
  learn::EvaluatedTimes large;
  std::array<Deviation, 2> deviations;
  for (const Measurement* row : rows) {
    ORRERY_TRY(const double seconds, PredictRow(calibration.model, *row));
    all.Add(seconds, row->seconds);
    deviations[row->request.size.count < kHeavyBytes ? 0 : 1].Add(std::log(seconds / row->seconds));
    if (row->request.size.count >= kLargeBytes) {
      large.Add(seconds, row->seconds);
    }
    if (std::abs(seconds / row->seconds - 1) > kOutlierError) {
      calibration.outliers.push_back({row, seconds});
    }
  }
  calibration.all = all.Evaluate();
  calibration.large = large.Evaluate();
  calibration.model.small_deviation = deviations[0].value();
  calibration.model.large_deviation = deviations[1].value();
  return {};
}

/// Rows that are long enough to be fitted.
std::vector<const Measurement*> LongRows(std::span<const Measurement* const> rows) {
  std::vector<const Measurement*> used;
  std::ranges::copy_if(rows, std::back_inserter(used), [](const Measurement* row) {
    return row->request.size.count >= kLeastBytes;
  });
  return used;
}

/// Fills in whose rows a model is of.
void Describe(std::span<const Measurement* const> rows, MachineModel& model) {
  model.machine = rows.front()->machine();
  model.source = rows.front()->source;
  model.setup = rows.front()->setup;
  model.rows = rows.size();
  const auto [fewest, most] = std::ranges::minmax(rows, {}, &Measurement::gpus);
  std::set<CollectiveKind> kinds;
  for (const Measurement* row : rows) {
    kinds.insert(row->request.kind);
  }
  model.kinds = static_cast<int>(kinds.size());
  model.fewest_gpus = fewest->gpus;
  model.most_gpus = most->gpus;
}

/// The common properties of machines that are fitted together: themselves, or their generation of
/// GPUs, links, NICs and whether rows are of several nodes.
using ClassKey =
    std::tuple<std::string, std::string, hardware::IslandKind, hardware::NetworkKind, bool>;

ClassKey KeyOf(std::span<const Measurement* const> group, bool is_alone) {
  const hardware::Cluster& cluster = *group.front()->cluster;
  const hardware::Gpu* gpu = hardware::FindGpu(cluster.gpu);
  const bool is_on_nodes =
      std::ranges::any_of(group, [](const Measurement* row) { return row->fabric.nodes > 1; });
  return {is_alone ? cluster.name : "", gpu == nullptr ? "" : gpu->generation, cluster.island.kind,
          cluster.nics.kind, is_on_nodes && !is_alone};
}

}  // namespace

std::vector<std::vector<const Measurement*>> GroupByMachine(std::span<const Measurement> rows) {
  using Key = std::tuple<std::string_view, std::string_view, std::string_view>;
  std::map<Key, std::vector<const Measurement*>> groups;
  for (const Measurement& row : rows) {
    groups[{row.machine(), row.source, row.setup}].push_back(&row);
  }
  const auto sorted = groups | std::views::values;
  return {sorted.begin(), sorted.end()};
}

Result<MachineCalibration> CalibrateMachine(std::span<const Measurement* const> rows) {
  const std::vector<const Measurement*> used = LongRows(rows);
  if (used.size() < kFewestRows) {
    return Invalid(
        "{} rows of at least {} bytes are too few to fit constants of a "
        "machine; measure {} or more sizes",
        used.size(), kLeastBytes, kFewestRows);
  }
  ORRERY_TRY(const std::vector<const TunerTables*> versions, VersionsOf(used));
  std::optional<FitOfVersion> best;
  // Skips versions that do not support the rows' settings.
  Error refusal(Error::Kind::kInvalidInput, "");
  const bool is_on_nodes =
      std::ranges::any_of(used, [](const Measurement* row) { return row->fabric.nodes > 1; });
  for (const std::string& assumed : SettingsToTry()) {
    if (!assumed.empty() && !is_on_nodes) {
      continue;
    }
    for (const TunerTables* tables : versions) {
      Result<FitOfVersion> tried = FitWith(used, *tables, assumed);
      if (!tried) {
        refusal = tried.error();
        continue;
      }
      FitOfVersion& fit = *tried;
      // The simplest explanation is kept unless another is clearly better.
      if (!best || fit.loss < best->loss * (best->model.assumed_settings == assumed ? 1 : 0.9)) {
        best = std::move(fit);
      }
    }
  }
  if (!best) {
    return tl::unexpected(refusal);
  }
  MachineCalibration calibration;
  calibration.model = std::move(best->model);
  calibration.at_bounds = std::move(best->at_bounds);
  calibration.model.was_version_told = versions.size() == 1;
  Describe(used, calibration.model);
  ORRERY_TRY_STATUS(EvaluateCollectives(used, calibration));
  return calibration;
}

std::vector<MachineClass> ClassesOf(std::span<const Measurement> rows) {
  std::vector<std::vector<const Measurement*>> groups = GroupByMachine(rows);
  const auto is_small = [](const std::vector<const Measurement*>& group) {
    return LongRows(group).size() < kRowsOfItsOwn;
  };
  std::map<std::string_view, std::size_t> rows_of_machine;  // in small groups
  for (const std::vector<const Measurement*>& group : groups | std::views::filter(is_small)) {
    rows_of_machine[group.front()->machine()] += LongRows(group).size();
  }
  std::vector<MachineClass> classes;
  std::map<ClassKey, std::size_t> places;  // of small groups
  for (std::vector<const Measurement*>& group : groups) {
    if (!is_small(group)) {
      classes.push_back({std::move(group)});
      continue;
    }
    const bool is_enough = rows_of_machine[group.front()->machine()] >= kRowsOfItsOwn;
    const auto [place, is_new] = places.emplace(KeyOf(group, is_enough), classes.size());
    if (is_new) {
      classes.emplace_back();
    }
    classes[place->second].push_back(std::move(group));
  }
  return classes;
}

Result<std::vector<MachineCalibration>> CalibrateMachineClass(const MachineClass& machines,
                                                              bool is_only) {
  std::vector<const Measurement*> all;
  for (const std::vector<const Measurement*>& machine : machines) {
    all.insert(all.end(), machine.begin(), machine.end());
  }
  if (const std::size_t rows = LongRows(all).size(); rows < kRowsOfItsOwn && !is_only) {
    return Invalid(
        "{} rows of its class ({} machines) are too few, {} are needed; it gets the constants of "
        "the nearest machine",
        rows, machines.size(), kRowsOfItsOwn);
  }
  ORRERY_TRY(const MachineCalibration together, CalibrateMachine(all));
  std::vector<MachineCalibration> calibrations;
  for (const std::vector<const Measurement*>& machine : machines) {
    const std::vector<const Measurement*> used = LongRows(machine);
    if (used.empty()) {
      continue;
    }
    MachineCalibration& calibration = calibrations.emplace_back();
    calibration.model = together.model;
    calibration.at_bounds = together.at_bounds;
    calibration.model.machines_of_class = static_cast<int>(machines.size());
    Describe(used, calibration.model);
    ORRERY_TRY_STATUS(EvaluateCollectives(used, calibration));
    // A few rows of one machine do not say how far another one is off.
    calibration.model.small_deviation = together.model.small_deviation;
    calibration.model.large_deviation = together.model.large_deviation;
  }
  return calibrations;
}

Result<double> PredictRow(const MachineModel& model, const Measurement& row) {
  ORRERY_TRY(const TunerTables* tables, FindTunerTables(model.nccl_version));
  ORRERY_TRY(const NcclSettings settings, ParseNcclSettings(model.assumed_settings));
  MachineModels::Found found{&model, ModelMatch::kSource};
  found.forms = {{model.constants, {}, tables}, {model.constants, settings, tables}};
  return PredictRow(found, row);
}

Result<double> PredictRow(const MachineModels::Found& found, const Measurement& row) {
  std::optional<NcclSettings> forced;
  if (row.settings != NcclSettings()) {
    forced = row.settings;
  }
  Result<Prediction> prediction = Predict(row.fabric, row.request, found.forms, forced);
  if (!prediction) {  // an algorithm that is younger than the model of another machine
    FormsOfMachine newest = found.forms;
    newest.of_node.tables = &NewestTunerTables();
    newest.over_nodes.tables = &NewestTunerTables();
    prediction = Predict(row.fabric, row.request, newest, forced);
  }
  ORRERY_TRY(const Prediction predicted, std::move(prediction));
  return predicted.seconds;
}

}  // namespace orrery::calibrate
