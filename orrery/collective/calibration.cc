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
#include "orrery/collective/algorithm.h"
#include "orrery/collective/closed_form.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/machine_models.h"
#include "orrery/collective/measurement.h"
#include "orrery/collective/nccl_settings.h"
#include "orrery/collective/tuner.h"
#include "orrery/collective/tuner_tables.h"
#include "orrery/hardware/cluster.h"
#include "orrery/hardware/gpu.h"
#include "orrery/learn/data_set.h"
#include "orrery/learn/least_squares.h"
#include "orrery/learn/metrics.h"

namespace orrery::collective {
namespace {

/// With fewer rows the defaults are kept.
constexpr std::size_t kFewestRows = 4;
/// Fewer do not tell ten constants apart: they say more about a run than about its machine.
constexpr std::size_t kRowsOfItsOwn = 30;
constexpr std::int64_t kLargeBytes = 4'000'000;
constexpr double kHeavyWeight = 1.5;
/// Regularises constants towards their defaults where rows do not determine them.
constexpr double kPriorWeight = 0.02;
constexpr double kOutlierError = 0.3;
constexpr int kStarts = 4;
constexpr double kStartDeviation = 0.3;

struct AlgorithmOfRow {
  const Measurement* row = nullptr;
  AlgorithmAndProtocol candidate;
};

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

Result<std::vector<AlgorithmOfRow>> CandidatesOf(std::span<const Measurement* const> rows,
                                                 const TunerTables& tables,
                                                 const std::string& assumed) {
  std::vector<AlgorithmOfRow> candidates;
  for (const Measurement* row : rows) {
    ORRERY_TRY(const NcclSettings settings, SettingsFor(*row, assumed));
    ORRERY_TRY(const Tuning tuning, Tune(row->fabric, row->request, settings, tables));
    candidates.push_back({row, {tuning.choice().algorithm, tuning.choice().protocol}});
  }
  return candidates;
}

/// The constants that rows determine: those of links always, those of the network where ranks are
/// on several nodes.
std::vector<Constant> ConstantsIn(std::span<const AlgorithmOfRow> candidates) {
  using enum Constant;
  std::vector<Constant> fitted = {kStart,     kSimpleStart, kLlHop,    kSimpleHop,
                                  kLinkShare, kLlLinkShare, kSharpness};
  bool has_nodes = false;
  bool has_nvls = false;
  bool has_direct = false;
  bool has_pcie = false;
  for (const auto& [row, candidate] : candidates) {
    has_nodes = has_nodes || row->fabric.nodes > 1;
    has_nvls = has_nvls || candidate.algorithm == Algorithm::kNvls;
    has_direct = has_direct || candidate.algorithm == Algorithm::kDirect;
    has_pcie = has_pcie || row->fabric.intra == IntraLink::kPcie;
  }
  const std::pair<bool, Constant> optional[] = {
      {has_nodes, kNetworkShare}, {has_nodes, kLlNetworkHop}, {has_nodes, kSimpleNetworkHop},
      {has_nvls, kNvlsShare},     {has_direct, kDirectShare}, {has_pcie, kCrowding}};
  for (const auto& [is_needed, constant] : optional) {
    if (is_needed) {
      fitted.push_back(constant);
    }
  }
  fitted.push_back(kOwnShare);
  fitted.resize(std::min(fitted.size(), kMostFitted));
  return fitted;
}

/// Fits logarithms, so that constants stay positive and have similar scales.
class Fitter {
 public:
  Fitter(std::span<const AlgorithmOfRow> candidates, const TunerTables& tables)
      : candidates_(candidates), tables_(tables), fitted_(ConstantsIn(candidates)) {
    for (const Constant constant : fitted_) {
      const ConstantInfo& info = InfoOf(constant);
      least_.push_back(std::log(std::max(info.least, 0.01)));
      most_.push_back(std::log(info.most));
      default_.push_back(std::log(DefaultConstants()[constant]));
    }
  }

  const std::vector<Constant>& fitted() const { return fitted_; }

  MachineConstants ConstantsAt(std::span<const double> point) const {
    MachineConstants constants = DefaultConstants();
    for (std::size_t i = 0; i < fitted_.size(); ++i) {
      constants.Set(fitted_[i], std::exp(point[i]));
    }
    return constants;
  }

  learn::LeastSquaresFit Best() const {
    const learn::Residuals residuals = [this](std::span<const double> point) {
      return ResidualsAt(point);
    };
    learn::Random random(1);
    std::optional<learn::LeastSquaresFit> best;
    for (int start = 0; start < kStarts; ++start) {
      std::vector<double> from = default_;
      for (double& value : from) {
        value += start == 0 ? 0 : (2 * random.Uniform() - 1) * kStartDeviation;
      }
      learn::LeastSquaresFit fit = learn::FitLeastSquares(residuals, from, least_, most_);
      if (!best || fit.loss < best->loss) {
        best = std::move(fit);
      }
    }
    return *best;
  }

 private:
  std::vector<double> ResidualsAt(std::span<const double> point) const {
    const MachineConstants constants = ConstantsAt(point);
    std::vector<double> residuals;
    residuals.reserve(candidates_.size() + point.size());
    for (const AlgorithmOfRow& candidate : candidates_) {
      const Measurement& row = *candidate.row;
      const double seconds =
          ClosedFormSeconds(row.fabric, row.request, candidate.candidate, tables_, constants);
      const double weight = row.request.size.count >= kHeavyBytes ? kHeavyWeight : 1;
      residuals.push_back(weight * std::log(seconds / row.seconds));
    }
    for (std::size_t i = 0; i < point.size(); ++i) {
      residuals.push_back(kPriorWeight * (point[i] - default_[i]));
    }
    return residuals;
  }

  std::span<const AlgorithmOfRow> candidates_;
  const TunerTables& tables_;
  std::vector<Constant> fitted_;
  std::vector<double> least_;
  std::vector<double> most_;
  std::vector<double> default_;
};

struct FitOfVersion {
  MachineModel model;
  double loss = 0;
};

Result<FitOfVersion> FitWith(std::span<const Measurement* const> rows, const TunerTables& tables,
                             const std::string& assumed) {
  ORRERY_TRY(const std::vector<AlgorithmOfRow> candidates, CandidatesOf(rows, tables, assumed));
  const Fitter fitter(candidates, tables);
  const learn::LeastSquaresFit best = fitter.Best();
  FitOfVersion fit;
  fit.loss = best.loss;
  fit.model.nccl_version = tables.version;
  fit.model.assumed_settings = assumed;
  fit.model.constants = fitter.ConstantsAt(best.parameters);
  fit.model.fitted = fitter.fitted();
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

Status Evaluate(std::span<const Measurement* const> rows, Calibration& calibration) {
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

/// What machines that are fitted together have in common: themselves, or their generation of GPUs,
/// links, NICs and whether rows are of several nodes.
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

Result<Calibration> Calibrate(std::span<const Measurement* const> rows) {
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
  Calibration calibration;
  calibration.model = std::move(best->model);
  calibration.model.was_version_told = versions.size() == 1;
  Describe(used, calibration.model);
  ORRERY_TRY_STATUS(Evaluate(used, calibration));
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

Result<std::vector<Calibration>> CalibrateClass(const MachineClass& machines, bool is_only) {
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
  ORRERY_TRY(const Calibration together, Calibrate(all));
  std::vector<Calibration> calibrations;
  for (const std::vector<const Measurement*>& machine : machines) {
    const std::vector<const Measurement*> used = LongRows(machine);
    if (used.empty()) {
      continue;
    }
    Calibration& calibration = calibrations.emplace_back();
    calibration.model = together.model;
    calibration.model.machines_of_class = static_cast<int>(machines.size());
    Describe(used, calibration.model);
    ORRERY_TRY_STATUS(Evaluate(used, calibration));
    // A few rows of one machine do not say how far another one is off.
    calibration.model.small_deviation = together.model.small_deviation;
    calibration.model.large_deviation = together.model.large_deviation;
  }
  return calibrations;
}

Result<double> PredictRow(const MachineModel& model, const Measurement& row) {
  ORRERY_TRY(const TunerTables* tables, FindTunerTables(model.nccl_version));
  ORRERY_TRY(const NcclSettings settings, SettingsFor(row, model.assumed_settings));
  Result<Prediction> prediction =
      Predict(row.fabric, row.request, settings, *tables, model.constants);
  if (!prediction) {  // an algorithm that is younger than the model of another machine
    prediction = Predict(row.fabric, row.request, settings, NewestTunerTables(), model.constants);
  }
  ORRERY_TRY(const Prediction predicted, std::move(prediction));
  return predicted.seconds;
}

}  // namespace orrery::collective
