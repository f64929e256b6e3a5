#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/kernel/efficiency.h"
#include "orrery/kernel/estimate.h"
#include "orrery/kernel/measured/measurement.h"
#include "orrery/kernel/operator.h"
#include "orrery/learn/model_file.h"

namespace orrery::kernel {

class ModelSet;

/// A correction from few measurements for a GPU without a model of a kind: the ratio of its
/// measured times to the predictions of sibling models. The dependence on shapes is that of the
/// siblings.
struct SiblingLevel {
  std::string gpu;
  OperatorKind kind = OperatorKind::kGemm;
  DataType type = DataType::kFp32;
  std::array<double, kNumTimings> factor_of_timing = {1, 1, 1, 1};  // by Timing
  double deviation = 0;  // of ln(predicted / measured), with the factor
  std::size_t rows = 0;
};

struct SiblingLevels {
  std::vector<std::string> sources;  // names of the tables
  std::vector<SiblingLevel> levels;
};

[[nodiscard]] std::string SiblingLevelsText(const SiblingLevels& levels);

/// Reads it back; `name` stands for the file in errors.
[[nodiscard]] Result<SiblingLevels> ParseSiblingLevels(const std::string& text,
                                                       const std::string& name);

struct WeightedModel {
  const EfficiencyModel* model = nullptr;
  double weight = 1;
  bool lacks_launch = false;      // has kernel times only, and the launch is requested too
  double log_library_factor = 0;  // of library calls, where it has the fastest kernels of a search
  const EfficiencyModel* alignment_source = nullptr;  // corrects for unaligned sizes, if any
};

struct ModelChoice {
  std::vector<WeightedModel> models;
  EstimateSource source = EstimateSource::kRoofline;
  LaunchFloor floor;
  double deviation = 0;           // of ln(predicted / measured)
  double log_level = 0;           // correction from few rows of this GPU
  double log_library_factor = 0;  // mean of the models
};

/// Learned efficiencies of many kinds on many GPUs. An operator uses
///
/// 1. the model of its kind, GPU and timing; else of another timing on that GPU;
/// 2. else the models of its kind on other GPUs, weighted by similarity: each gives the efficiency
///    at the waves and tiles of *this* GPU, and their mean is applied to its roofline, times the
///    level from few measurements of this GPU, if any;
/// 3. else the roofline with a default efficiency.
///
/// Models of the fastest kernels that a search found serve GPUs of their vendor only, and are
/// slowed down by what the vendor's library loses (library_calls.h) where kernel times of training
/// are requested.
///
/// No time is below the operator's floor (floor.h).
///
/// A model trained on aligned GEMMs only treats unaligned ones as aligned. If another model of its
/// generation distinguishes them, the prediction for the aligned GEMM is multiplied by the ratio of
/// the two according to that model; the estimate names its GPU.
///
/// Doubling a size may make an operator faster by more than 5 %, as it does on GPUs
/// (docs/design/0004-kernel-models.md quantifies how often, and the cost of preventing it).
class ModelSet : public CostModel {
 public:
  ModelSet() = default;

  void Add(EfficiencyModel model);

  /// Adds the models of another set, in its order.
  void Merge(ModelSet other);

  /// Replaces all levels; each applies where sibling models are used for its GPU, kind and type.
  void SetLevels(std::vector<SiblingLevel> levels);

  [[nodiscard]] const std::vector<EfficiencyModel>& models() const { return models_; }

  [[nodiscard]] bool IsEmpty() const { return models_.empty(); }

  /// The same without the models of one GPU, as if it had not been measured.
  [[nodiscard]] ModelSet Without(std::string_view gpu) const;

  using CostModel::Predict;
  void Predict(std::span<const Operator> operators, const hardware::Gpu& gpu,
               std::span<Estimate> estimates) const override;

  /// The same for times measured as `timing`.
  void PredictAs(Timing timing, std::span<const Operator> operators, const hardware::Gpu& gpu,
                 std::span<Estimate> estimates, int threads = 0) const;
  /// Adds a section for each model, or for each of one kind.
  void AddTo(learn::ModelFile& file, std::optional<OperatorKind> only = {}) const;
  [[nodiscard]] Status AddFrom(const learn::ModelFile& file);

 private:
  ModelChoice ChooseModels(OperatorKind kind, DataType type, const hardware::Gpu& gpu,
                           Timing timing) const;

  /// The same without the correction for alignment.
  ModelChoice ChooseWithoutAlignment(OperatorKind kind, DataType type, const hardware::Gpu& gpu,
                                     Timing timing) const;

  /// Finds another model of the kind that was trained on unaligned sizes, on the most similar GPU
  /// of the same generation, or none.
  const EfficiencyModel* FindAlignmentSource(const EfficiencyModel& weighted, DataType type) const;

  const SiblingLevel* FindLevel(OperatorKind kind, DataType type, const hardware::Gpu& gpu) const;

  std::vector<EfficiencyModel> models_;
  std::vector<SiblingLevel> levels_;
};

/// Reads model files; a folder stands for all model files in it and below it.
[[nodiscard]] Result<ModelSet> ReadModels(std::span<const std::string> paths);

/// Reads the embedded models: data/models/kernels, one file for each operator of each measured GPU,
/// and the levels of data/models/sibling_levels.yaml. Takes a moment.
[[nodiscard]] Result<ModelSet> ShippedModels();

}  // namespace orrery::kernel
