#include "orrery/kernel/model_set.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/concurrency/parallel.h"
#include "orrery/base/data_type.h"
#include "orrery/base/error.h"
#include "orrery/base/file/folder.h"
#include "orrery/base/math/statistics.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/data_type.h"
#include "orrery/kernel/efficiency.h"
#include "orrery/kernel/embedded_sibling_levels.h"
#include "orrery/kernel/estimate.h"
#include "orrery/kernel/features.h"
#include "orrery/kernel/floor.h"
#include "orrery/kernel/library_calls.h"
#include "orrery/kernel/measured/measurement.h"
#include "orrery/kernel/operator.h"
#include "orrery/kernel/work.h"
#include "orrery/learn/model_file.h"

namespace orrery::kernel {

/// Made by cmake/EmbedFiles.cmake.
struct EmbeddedFile {
  const char* begin;
  const char* end;
};

extern const EmbeddedFile kEmbeddedKernelModels[];
extern const std::size_t kNumEmbeddedKernelModels;

namespace {

constexpr std::size_t kBlockRows = 1024;
/// Share of the roofline that well-written kernels reach, where nothing was measured.
constexpr double kDefaultEfficiency = 0.7;
constexpr double kRooflineDeviation = 0.5;
/// For GPUs without their own models: 17 to 25 % (docs/validation/kernels.md).
constexpr double kOtherGpuDeviation = 0.25;
constexpr double kOutsideFactor = 2;

LaunchFloor DefaultFloor(Timing timing) {
  return timing == Timing::kEager ? LaunchFloor{30e-6, 4} : LaunchFloor{2e-6, 1};
}

double Distance(double one, double other) {
  return std::abs(std::log(one / other));
}

double Peak(const hardware::Gpu& gpu, DataType type) {
  return gpu.PeakFlops(PeakName(type)).value_or(gpu.PeakFlops("fp32").value_or(1e12));
}

// Returns how well the efficiency of one GPU predicts that of another, above 0 and at most 1: GPUs
// of one generation run the same kernels; peak rate, bandwidth, cache and power should be close.
double Similarity(const hardware::Gpu& source, const hardware::Gpu& gpu, DataType type) {
  const double distance =
      1 * Distance(Peak(source, type), Peak(gpu, type)) +
      1 * Distance(source.memory.bytes_per_second, gpu.memory.bytes_per_second) +
      0.5 * Distance(static_cast<double>(source.last_level_cache.count),
                     static_cast<double>(gpu.last_level_cache.count)) +
      0.5 * Distance(source.power_watts, gpu.power_watts) +
      (source.generation == gpu.generation ? 0 : 1) + (source.vendor == gpu.vendor ? 0 : 1);
  return std::exp(-distance);
}

/// Returns true if a model has kernel times and they are requested: the fastest kernels of a search
/// differ from those of a library by a factor.
bool IsComparable(Timing given, Timing asked) {
  return given == asked || (given == Timing::kTuned && asked == Timing::kKernels);
}

/// Returns true if a model can answer for a type. A search takes other kernels for each narrow
/// type: those of fp8 with scales of blocks say nothing of fp8 with one scale.
bool Serves(const EfficiencyModel& model, OperatorKind kind, DataType type) {
  const bool is_measured = model.domain().types[OperatorTypeNumber(type)];
  const bool is_searched_narrow = model.domain().timing == Timing::kTuned && ElementBytes(type) < 2;
  return is_measured || (!is_searched_narrow && model.Place(Operator(kind, type)));
}

const LibraryCalls& LibraryCallsOf(const EfficiencyModel& model, const hardware::Gpu& gpu,
                                   Timing asked) {
  const bool is_searched = model.domain().timing == Timing::kTuned && asked != Timing::kTuned;
  return kernel::LibraryCallsOf(is_searched ? gpu.vendor : std::string_view());
}

/// Returns true if the model has kernel times and eager times are requested.
bool LacksLaunch(Timing given, Timing asked) {
  return given != Timing::kEager && asked == Timing::kEager;
}

struct Request {
  Operator op;
  double roofline_seconds = 0;
  double base_seconds = 0;  // the roofline combined with the launch
  double seconds = 0;
  bool was_outside = false;
  const EfficiencyModel* alignment_source = nullptr;  // corrected for its alignment
};

/// The launch time of a GPU that was not measured. It is the host's, and hosts get faster over the
/// years: for a GPU at least as new as every source GPU, the shortest; else the median of source
/// GPUs of its vendor.
class SourceFloors {
 public:
  SourceFloors(const hardware::Gpu& gpu, const LaunchFloor& fallback)
      : gpu_(gpu), fallback_(fallback) {}

  void Add(const hardware::Gpu& source, const LaunchFloor& floor) {
    is_newest_ = is_newest_ && gpu_.year >= source.year;
    all_.push_back(floor.seconds);
    if (source.vendor == gpu_.vendor) {
      of_vendor_.push_back(floor.seconds);
    }
    fallback_.sharpness = std::max(fallback_.sharpness, floor.sharpness);
  }

  LaunchFloor Floor() const {
    if (all_.empty()) {
      return fallback_;
    }
    const bool is_least = is_newest_ || of_vendor_.empty();
    return {is_least ? std::ranges::min(all_) : Median(of_vendor_), fallback_.sharpness};
  }

 private:
  const hardware::Gpu& gpu_;
  LaunchFloor fallback_;
  bool is_newest_ = true;
  std::vector<double> all_;
  std::vector<double> of_vendor_;
};

class BatchPredictor {
 public:
  BatchPredictor(const ModelChoice& choice, const hardware::Gpu& gpu)
      : choice_(choice), gpu_(gpu) {}

  Request RequestFor(const Operator& op) const {
    const double roofline = BoundOf(op, WorkOf(op), gpu_).Seconds();
    return {.op = op, .roofline_seconds = roofline, .base_seconds = choice_.floor.Join(roofline)};
  }

  void Predict(std::span<Request> requests) {
    const double start = choice_.models.empty() ? -std::log(kDefaultEfficiency) : choice_.log_level;
    logs_.assign(requests.size(), start);
    for (const WeightedModel& weighted : choice_.models) {
      AddEfficiency(weighted, requests);
    }
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const double seconds = requests[i].base_seconds * std::exp(logs_[i]);
      requests[i].seconds = std::max(seconds, FloorSeconds(requests[i].op, gpu_));
    }
  }

 private:
  /// Adds the logarithm of each operator's efficiency according to a model.
  void AddEfficiency(const WeightedModel& weighted, std::span<Request> requests) {
    features_.clear();
    losses_.clear();
    for (Request& request : requests) {
      const Operator asked = Aligned(request.op, CorrectedSizes(weighted, request.op));
      const std::optional<EfficiencyModel::Placed> placed = weighted.model->Place(asked);
      request.was_outside = request.was_outside || !placed || placed->was_outside;
      const FeatureRow row = FeaturesOf(placed ? placed->op : asked, gpu_);
      features_.insert(features_.end(), row.values().begin(), row.values().end());
      losses_.push_back(
          asked == request.op ? 0 : AlignmentLoss(*weighted.alignment_source, asked, request));
    }
    const std::vector<double> predicted = weighted.model->forest().PredictRows(features_);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      logs_[i] +=
          weighted.weight * RelativeToBase(weighted, requests[i],
                                           predicted[i] + losses_[i] + weighted.log_library_factor);
    }
  }

  /// Unaligned sizes that the alignment source distinguishes and the model does not.
  static GemmSizes CorrectedSizes(const WeightedModel& weighted, const Operator& op) {
    if (weighted.alignment_source == nullptr) {
      return {};
    }
    return UnalignedSizes(op) & weighted.model->IndistinctSizes(op) &
           ~weighted.alignment_source->IndistinctSizes(op);
  }

  /// The loss against the aligned GEMM according to the alignment source, as a logarithm.
  double AlignmentLoss(const EfficiencyModel& alignment_source, const Operator& aligned,
                       Request& request) const {
    request.alignment_source = &alignment_source;
    return EfficiencyBy(alignment_source, request.op) - EfficiencyBy(alignment_source, aligned);
  }

  double EfficiencyBy(const EfficiencyModel& model, const Operator& op) const {
    const std::optional<EfficiencyModel::Placed> placed = model.Place(op);
    return model.forest().Predict(FeaturesOf(placed ? placed->op : op, gpu_).values());
  }

  /// Converts an efficiency relative to the model's own base to the requested base. Where the model
  /// has kernel times only, they replace the roofline in the combination with the launch.
  double RelativeToBase(const WeightedModel& weighted, const Request& request,
                        double efficiency) const {
    const LaunchFloor& own = weighted.model->floor();
    if (weighted.lacks_launch) {
      const double kernels = own.Join(request.roofline_seconds) * std::exp(efficiency);
      return std::log(choice_.floor.Join(kernels) / request.base_seconds);
    }
    if (own.sharpness == choice_.floor.sharpness) {
      return efficiency;
    }
    const LaunchFloor floor{choice_.floor.seconds, own.sharpness};
    return efficiency + std::log(floor.Join(request.roofline_seconds) / request.base_seconds);
  }

  const ModelChoice& choice_;
  const hardware::Gpu& gpu_;
  std::vector<float> features_;
  std::vector<double> losses_;
  std::vector<double> logs_;
};

}  // namespace

void ModelSet::Add(EfficiencyModel model) {
  models_.push_back(std::move(model));
}

ModelSet ModelSet::Without(std::string_view gpu) const {
  ModelSet others;
  for (const EfficiencyModel& model : models_) {
    if (model.domain().gpu != gpu) {
      others.Add(model);
    }
  }
  std::ranges::copy_if(levels_, std::back_inserter(others.levels_),
                       [&](const SiblingLevel& level) { return level.gpu != gpu; });
  return others;
}

void ModelSet::SetLevels(std::vector<SiblingLevel> levels) {
  levels_ = std::move(levels);
}

const SiblingLevel* ModelSet::FindLevel(OperatorKind kind, DataType type,
                                        const hardware::Gpu& gpu) const {
  const auto found = std::ranges::find_if(levels_, [&](const SiblingLevel& level) {
    return level.kind == kind && level.type == type && level.gpu == gpu.name;
  });
  return found == levels_.end() ? nullptr : &*found;
}

const EfficiencyModel* ModelSet::FindAlignmentSource(const EfficiencyModel& aligned,
                                                     DataType type) const {
  const hardware::Gpu* const gpu = hardware::FindGpu(aligned.domain().gpu);
  const EfficiencyModel* alignment_source = nullptr;
  double best = 0;
  for (const EfficiencyModel& model : models_) {
    const bool knows = model.domain().kind == aligned.domain().kind &&
                       model.domain().types[OperatorTypeNumber(type)] &&
                       model.DistinguishesAlignment(type);
    const hardware::Gpu* const other = knows ? hardware::FindGpu(model.domain().gpu) : nullptr;
    const bool is_of_generation = other && gpu && other->generation == gpu->generation;
    if (&model == &aligned || !is_of_generation) {
      continue;
    }
    const double similarity = Similarity(*other, *gpu, type);
    alignment_source = similarity > best ? &model : alignment_source;
    best = std::max(best, similarity);
  }
  return alignment_source;
}

ModelChoice ModelSet::ChooseModels(OperatorKind kind, DataType type, const hardware::Gpu& gpu,
                                   Timing timing) const {
  ModelChoice choice = ChooseWithoutAlignment(kind, type, gpu, timing);
  for (WeightedModel& weighted : choice.models) {
    weighted.alignment_source = FindAlignmentSource(*weighted.model, type);
  }
  return choice;
}

namespace {

// Returns true if `model` suits better than `own`: measured as requested, or else with the least
// launch time.
bool IsBetterTiming(const EfficiencyModel& model, const EfficiencyModel* own, Timing timing) {
  return own == nullptr || model.domain().timing == timing ||
         (own->domain().timing != timing && model.domain().timing < own->domain().timing);
}

void TakeOwnModel(const EfficiencyModel& own, const hardware::Gpu& gpu, Timing timing,
                  ModelChoice& choice) {
  const LibraryCalls& calls = LibraryCallsOf(own, gpu, timing);
  choice.models = {{&own, 1, LacksLaunch(own.domain().timing, timing), std::log(calls.factor)}};
  choice.source = EstimateSource::kThisGpu;
  choice.log_library_factor = std::log(calls.factor);
  choice.deviation = std::hypot(own.deviation(), calls.deviation);
  choice.floor = IsComparable(own.domain().timing, timing) ? own.floor() : DefaultFloor(timing);
}

const hardware::Gpu& GpuOf(const EfficiencyModel& model) {
  return *hardware::FindGpu(model.domain().gpu);
}

/// Leaves out models of other vendors' libraries where a search found kernels of the GPU's vendor.
void KeepVendorOfSearches(const hardware::Gpu& gpu, Timing timing,
                          std::vector<WeightedModel>& others) {
  const bool is_searched = std::ranges::any_of(others, [&](const WeightedModel& weighted) {
    return weighted.model->domain().timing == Timing::kTuned &&
           IsComparable(Timing::kTuned, timing);
  });
  std::erase_if(others, [&](const WeightedModel& weighted) {
    return is_searched && GpuOf(*weighted.model).vendor != gpu.vendor;
  });
}

LaunchFloor FloorOf(std::span<const WeightedModel> others, const hardware::Gpu& gpu, Timing timing,
                    const LaunchFloor& fallback) {
  SourceFloors floors(gpu, fallback);
  for (const WeightedModel& weighted : others) {
    if (IsComparable(weighted.model->domain().timing, timing)) {
      floors.Add(GpuOf(*weighted.model), weighted.model->floor());
    }
  }
  return floors.Floor();
}

// Takes the models of other GPUs, each by its share of the weights.
void TakeSiblings(std::vector<WeightedModel> others, const hardware::Gpu& gpu, Timing timing,
                  ModelChoice& choice) {
  double total = 0;
  for (const WeightedModel& weighted : others) {
    total += weighted.weight;
  }
  double deviation = 0;
  for (WeightedModel& weighted : others) {
    weighted.weight /= total;
    if (weighted.weight > 0.02) {
      choice.models.push_back(weighted);
      choice.source = EstimateSource::kSibling;
      const LibraryCalls& calls = LibraryCallsOf(*weighted.model, gpu, timing);
      deviation += weighted.weight * std::hypot(weighted.model->deviation(), calls.deviation);
      choice.log_library_factor += weighted.weight * weighted.log_library_factor;
      choice.deviation = std::hypot(deviation, kOtherGpuDeviation);
    }
  }
}

}  // namespace

ModelChoice ModelSet::ChooseWithoutAlignment(OperatorKind kind, DataType type,
                                             const hardware::Gpu& gpu, Timing timing) const {
  ModelChoice choice;
  choice.deviation = kRooflineDeviation;
  choice.floor = DefaultFloor(timing);
  std::vector<WeightedModel> others;
  const EfficiencyModel* own = nullptr;
  for (const EfficiencyModel& model : models_) {
    const EfficiencyModel::Domain& domain = model.domain();
    if (domain.kind != kind || !Serves(model, kind, type)) {
      continue;
    }
    const bool is_same_timing = IsComparable(domain.timing, timing);
    if (domain.gpu == gpu.name) {
      own = IsBetterTiming(model, own, timing) ? &model : own;
      continue;
    }
    const hardware::Gpu* const source = hardware::FindGpu(domain.gpu);
    // A search found the kernels of one vendor's libraries.
    const bool is_of_other_vendor =
        source && domain.timing == Timing::kTuned && source->vendor != gpu.vendor;
    if (source != nullptr && !is_of_other_vendor) {
      others.push_back({&model, Similarity(*source, gpu, type) * (is_same_timing ? 1 : 0.2),
                        LacksLaunch(domain.timing, timing),
                        std::log(LibraryCallsOf(model, gpu, timing).factor)});
    }
  }
  if (own != nullptr) {
    TakeOwnModel(*own, gpu, timing, choice);
    return choice;
  }
  KeepVendorOfSearches(gpu, timing, others);
  choice.floor = FloorOf(others, gpu, timing, choice.floor);
  const bool is_of_measured_vendor = std::ranges::any_of(
      others,
      [&](const WeightedModel& weighted) { return GpuOf(*weighted.model).vendor == gpu.vendor; });
  TakeSiblings(std::move(others), gpu, timing, choice);
  if (!is_of_measured_vendor) {
    choice.deviation = std::max(choice.deviation, kRooflineDeviation);
  }
  const SiblingLevel* level = FindLevel(kind, type, gpu);
  if (level != nullptr && !choice.models.empty()) {
    choice.log_level = std::log(level->factor_of_timing[static_cast<std::size_t>(timing)]);
    choice.deviation = level->deviation;
  }
  return choice;
}

void ModelSet::Predict(std::span<const Operator> operators, const hardware::Gpu& gpu,
                       std::span<Estimate> estimates) const {
  PredictAs(Timing::kKernels, operators, gpu, estimates);
}

namespace {

using KindAndType = std::pair<OperatorKind, DataType>;

/// Operators of one kind and type, by index.
struct Batch {
  const ModelChoice* choice = nullptr;
  std::span<const std::size_t> indices;
};

Estimate EstimateOf(const Request& request, const ModelChoice& choice) {
  const bool is_corrected = request.alignment_source != nullptr;
  const double deviation = choice.deviation * (request.was_outside ? kOutsideFactor : 1);
  return {.seconds = request.seconds,
          .roofline_seconds = request.roofline_seconds,
          .uncertainty =
              std::hypot(deviation, is_corrected ? request.alignment_source->deviation() : 0),
          .is_extrapolated =
              choice.source != EstimateSource::kThisGpu || request.was_outside || is_corrected,
          .source = choice.source,
          .alignment_gpu =
              is_corrected ? hardware::FindGpu(request.alignment_source->domain().gpu) : nullptr,
          .library_factor = std::exp(choice.log_library_factor)};
}

void PredictBatch(const Batch& batch, std::span<const Operator> operators, const hardware::Gpu& gpu,
                  std::span<Estimate> estimates) {
  BatchPredictor predictor(*batch.choice, gpu);
  std::vector<Request> requests;
  requests.reserve(batch.indices.size());
  for (const std::size_t index : batch.indices) {
    const Operator& op = operators[index];
    if (HasBothGradients(op)) {
      requests.push_back(predictor.RequestFor(Operator(op).Set(Key::kPass, "dgrad")));
      requests.push_back(predictor.RequestFor(Operator(op).Set(Key::kPass, "wgrad")));
    } else {
      requests.push_back(predictor.RequestFor(op));
    }
  }
  predictor.Predict(requests);
  auto request = requests.begin();
  for (const std::size_t index : batch.indices) {
    Estimate& estimate = estimates[index] = EstimateOf(*request++, *batch.choice);
    if (HasBothGradients(operators[index])) {
      const Estimate other = EstimateOf(*request++, *batch.choice);
      estimate.seconds += other.seconds;
      estimate.roofline_seconds += other.roofline_seconds;
      estimate.uncertainty = std::max(estimate.uncertainty, other.uncertainty);
      estimate.is_extrapolated = estimate.is_extrapolated || other.is_extrapolated;
    }
  }
}

Result<ModelSet> ModelsIn(const EmbeddedFile& embedded) {
  const std::string_view bytes(embedded.begin,
                               static_cast<std::size_t>(embedded.end - embedded.begin));
  ORRERY_TRY(const learn::ModelFile file, learn::ParseModelFile(bytes));
  ModelSet models;
  ORRERY_TRY_STATUS(models.AddFrom(file));
  return models;
}

Result<std::vector<std::string>> ModelFilesAt(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    return std::vector{path};
  }
  ORRERY_TRY(std::vector<std::string> files, FilesBelow(path));
  std::erase_if(files, [](const std::string& file) { return !file.ends_with(".orrmodel"); });
  if (files.empty()) {
    return Invalid(
        "{}: there is no .orrmodel file in this folder; name the folder that `orrery fit "
        "kernels` wrote",
        path);
  }
  return files;
}

}  // namespace

void ModelSet::PredictAs(Timing timing, std::span<const Operator> operators,
                         const hardware::Gpu& gpu, std::span<Estimate> estimates,
                         int threads) const {
  std::map<KindAndType, std::vector<std::size_t>> indices;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    indices[{operators[i].kind(), operators[i].type()}].push_back(i);
  }
  std::map<KindAndType, ModelChoice> choice;
  std::vector<Batch> batches;
  for (const auto& [key, rows] : indices) {
    choice[key] = ChooseModels(key.first, key.second, gpu, timing);
    for (std::size_t begin = 0; begin < rows.size(); begin += kBlockRows) {
      const std::size_t count = std::min(kBlockRows, rows.size() - begin);
      batches.push_back({&choice[key], std::span(rows).subspan(begin, count)});
    }
  }
  ParallelFor(batches.size(), threads,
              [&](std::size_t index) { PredictBatch(batches[index], operators, gpu, estimates); });
}

void ModelSet::AddTo(learn::ModelFile& file, std::optional<OperatorKind> only) const {
  for (const EfficiencyModel& model : models_) {
    const EfficiencyModel::Domain& domain = model.domain();
    if (only && *only != domain.kind) {
      continue;
    }
    file.sections.push_back(
        {fmt::format("{} {} {}", domain.gpu, TimingName(domain.timing), SchemaOf(domain.kind).name),
         model.Encode()});
  }
}

void ModelSet::Merge(ModelSet other) {
  for (EfficiencyModel& model : other.models_) {
    Add(std::move(model));
  }
}

Status ModelSet::AddFrom(const learn::ModelFile& file) {
  for (const learn::ModelFile::Section& section : file.sections) {
    Result<EfficiencyModel> model = EfficiencyModel::Decode(section.bytes);
    if (!model) {
      return FailWithin(section.name, model);
    }
    Add(*std::move(model));
  }
  return {};
}

Result<ModelSet> ReadModels(std::span<const std::string> paths) {
  ModelSet models;
  for (const std::string& path : paths) {
    ORRERY_TRY(const std::vector<std::string> files, ModelFilesAt(path));
    for (const std::string& name : files) {
      ORRERY_TRY(const learn::ModelFile file, learn::ReadModelFile(name));
      if (const Status added = models.AddFrom(file); !added) {
        return FailWithin(name, added);
      }
    }
  }
  return models;
}

Result<ModelSet> ShippedModels() {
  const std::span<const EmbeddedFile> files(kEmbeddedKernelModels, kNumEmbeddedKernelModels);
  std::vector<Result<ModelSet>> parts(files.size());
  ParallelFor(files.size(), 0, [&](std::size_t index) { parts[index] = ModelsIn(files[index]); });
  ModelSet models;
  for (Result<ModelSet>& part : parts) {
    ORRERY_TRY(ModelSet read, std::move(part));
    models.Merge(std::move(read));
  }
  ORRERY_TRY(SiblingLevels levels,
             ParseSiblingLevels(kEmbeddedSiblingLevels, "data/models/sibling_levels.yaml"));
  models.SetLevels(std::move(levels.levels));
  return models;
}

}  // namespace orrery::kernel
