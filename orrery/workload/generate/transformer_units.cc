#include "orrery/workload/generate/transformer_units.h"

#include <algorithm>
#include <numeric>

#include "orrery/workload/generate/block_steps.h"
#include "orrery/workload/generate/scene.h"
#include "orrery/workload/model/parameters.h"

namespace orrery::workload {
namespace {

constexpr std::int64_t kTensorsOfBlock = 12;
constexpr std::int64_t kTensorsOfEnds = 2;

// Blocks of each part of the pipeline: as told, or evenly, what is left over to the first parts.
std::vector<int> BlocksOfParts(const Job& job, int blocks, int parts) {
  if (static_cast<int>(job.plan.layers_per_stage.size()) == parts) {
    return job.plan.layers_per_stage;
  }
  std::vector<int> counts(static_cast<std::size_t>(parts), blocks / parts);
  for (int i = 0; i < blocks % parts; ++i) {
    ++counts[static_cast<std::size_t>(i)];
  }
  return counts;
}

class UnitsBuilder {
 public:
  UnitsBuilder(const Job& job, const Transformer& model, const PipelineShape& shape)
      : job_(job), model_(model), shape_(shape), scene_(SceneOf(job, model)) {}

  Result<ModelUnits> Build() {
    AddKinds();
    DealUnits();
    units_.message_bytes = scene_.tokens * scene_.hidden * scene_.element_bytes /
                           (job_.plan.sequence_parallel ? scene_.tp : 1);
    return std::move(units_);
  }

 private:
  void AddKinds() {
    units_.kinds.push_back(EmbeddingSteps(scene_, model_));
    for (const auto* runs : {&model_.encoder, &model_.blocks}) {
      for (const BlockRun& run : *runs) {
        units_.kinds.push_back(BlockSteps(scene_, model_, run.block));
        const StageUnit unit = {units_.kinds.size() - 1, false,
                                LocalPart(ParametersOf(run.block, model_.hidden), job_.plan,
                                          kTensorsOfBlock)};
        block_units_.insert(block_units_.end(), static_cast<std::size_t>(run.count), unit);
      }
    }
    for (std::int64_t i = 0; i < model_.extra_predictions && !block_units_.empty(); ++i) {
      block_units_.push_back(block_units_.back());
    }
    units_.kinds.push_back(HeadSteps(scene_, model_));
  }

  // The units of one part of the model, from the embedding to the head.
  [[nodiscard]] std::vector<StageUnit> UnitsOfPart(int part, int parts,
                                                   const std::vector<int>& counts) const {
    const std::int64_t vocabulary = PaddedVocabulary(job_, model_);
    std::vector<StageUnit> units;
    if (part == 0) {
      units.push_back({0, false,
                       LocalPart(EmbeddingParameters(model_, vocabulary), job_.plan, kTensorsOfEnds)});
    }
    const int first = std::accumulate(counts.begin(), counts.begin() + part, 0);
    const int count = counts[static_cast<std::size_t>(part)];
    for (int i = 0; i < count; ++i) {
      StageUnit unit = block_units_[static_cast<std::size_t>(first + i)];
      unit.recomputes = job_.plan.recompute == Recompute::kFull &&
                        (job_.plan.recompute_layers == 0 || i < job_.plan.recompute_layers);
      units.push_back(unit);
    }
    if (part + 1 == parts) {
      units.push_back({units_.kinds.size() - 1, false,
                       LocalPart(HeadParameters(model_, vocabulary, parts > 1), job_.plan,
                                 kTensorsOfEnds)});
    }
    return units;
  }

  void DealUnits() {
    const int parts = NumParts(shape_);
    const std::vector<int> counts =
        BlocksOfParts(job_, static_cast<int>(block_units_.size()), parts);
    for (int stage = 0; stage < shape_.stages; ++stage) {
      StageUnits chunks;
      bool has_end = false;
      for (int chunk = 0; chunk < shape_.chunks; ++chunk) {
        const int part = PartOf(shape_, {stage, chunk});
        has_end = has_end || part == 0 || part + 1 == parts;
        chunks.push_back(UnitsOfPart(part, parts, counts));
      }
      const bool is_shared = model_.is_tied && shape_.stages > 1 && has_end &&
                             (stage == 0 || stage + 1 == shape_.stages);
      units_.tied_bytes.push_back(is_shared ? PaddedVocabulary(job_, model_) * model_.hidden /
                                                  scene_.tp *
                                                  job_.training.precision.gradient_bytes
                                            : 0);
      units_.stages.push_back(std::move(chunks));
    }
  }

  const Job& job_;
  const Transformer& model_;
  const PipelineShape& shape_;
  Scene scene_;
  ModelUnits units_;
  std::vector<StageUnit> block_units_;
};

}  // namespace

LocalParameters LocalPart(const PartParameters& part, const Plan& plan, std::int64_t tensors) {
  return {part.split / plan.tp + part.whole, part.experts / (plan.ep * plan.expert_tp), tensors};
}

Result<ModelUnits> TransformerUnits(const Job& job, const PipelineShape& shape) {
  return UnitsBuilder(job, *job.model.transformer(), shape).Build();
}

}  // namespace orrery::workload
