#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/kernel/alignment.h"
#include "orrery/kernel/efficiency.h"
#include "orrery/kernel/estimate.h"
#include "orrery/kernel/measurement.h"
#include "orrery/kernel/sibling_level.h"
#include "orrery/learn/model_file.h"

namespace orrery::kernel {

/// A model and how much it counts.
struct SourceModel {
  const EfficiencyModel* model = nullptr;
  double weight = 1;
  bool lacks_launch = false;  // it tells kernels alone, and the launch is asked for too
  const EfficiencyModel* teacher = nullptr;  // of its generation, who may know more of alignment
};

/// The models that speak for a kind on a GPU, and how good they are.
struct Advice {
  std::vector<SourceModel> source_models;
  EstimateSource source = EstimateSource::kRoofline;
  LaunchFloor floor;
  double deviation = 0;  // of ln(predicted / measured)
  double log_level = 0;  // what few rows of this GPU add to what its siblings say
};

/// Learned efficiencies of many kinds on many GPUs, and how an operator finds its own:
///
/// 1. the model of its kind, GPU and timing; else of another timing on that GPU;
/// 2. else the models of its kind on other GPUs, those that are like it before all: each tells the
///    efficiency at the waves and tiles of *this* GPU, and their mean goes on top of its roofline,
///    times the level that few measurements of this GPU gave, if any;
/// 3. else the roofline with the usual efficiency of GPUs.
///
/// A model that learned from aligned products alone takes an unaligned one for aligned. Where a
/// model of its generation knows better, it is asked for the aligned product, and what that one
/// sees between the two is multiplied to it; the answer says which GPU that was.
///
/// Doubling a size may make an operator faster by more than 5 %, as it does on GPUs
/// (docs/design/0004-kernel-models.md has how often, and what forbidding it would cost).
class ModelSet : public CostModel {
 public:
  ModelSet() = default;

  void Add(EfficiencyModel model);

  /// Takes the place of all levels; each counts where siblings speak for its GPU, kind and type.
  void SetLevels(std::vector<SiblingLevel> levels);

  [[nodiscard]] const std::vector<EfficiencyModel>& models() const { return models_; }

  [[nodiscard]] bool IsEmpty() const { return models_.empty(); }

  /// The same without the models of one GPU, as if nobody had measured it.
  [[nodiscard]] ModelSet Without(std::string_view gpu) const;

  using CostModel::Predict;
  void Predict(std::span<const Operator> operators, const hardware::Gpu& gpu,
               std::span<Estimate> estimates) const override;

  /// The same for times that hold what `timing` says.
  void PredictAs(Timing timing, std::span<const Operator> operators, const hardware::Gpu& gpu,
                 std::span<Estimate> estimates, int threads = 0) const;

  /// Each model is a section of the file.
  void AddTo(learn::ModelFile& file) const;
  [[nodiscard]] Status AddFrom(const learn::ModelFile& file);

 private:
  [[nodiscard]] Advice AdviceFor(OperatorKind kind, DataType type, const hardware::Gpu& gpu,
                                 Timing timing) const;

  /// The same before anybody is asked about alignment.
  [[nodiscard]] Advice UntaughtAdvice(OperatorKind kind, DataType type, const hardware::Gpu& gpu,
                                      Timing timing) const;

  /// Finds another model of the kind that learned from unaligned sizes, on a GPU of the same
  /// generation: the most similar one, or none.
  [[nodiscard]] const EfficiencyModel* TeacherOf(const EfficiencyModel& source_model, DataType type) const;

  [[nodiscard]] const SiblingLevel* FindLevel(OperatorKind kind, DataType type,
                                              const hardware::Gpu& gpu) const;

  std::vector<EfficiencyModel> models_;
  std::vector<SiblingLevel> levels_;
};

}  // namespace orrery::kernel
