#include "orrery/workload/generate/layer_list_units.h"

#include <utility>
#include <vector>

#include "orrery/kernel/work.h"
#include "orrery/workload/generate/layer_writer.h"
#include "orrery/workload/generate/microbatch_shape.h"
#include "orrery/workload/model/listed_layers.h"

namespace orrery::workload {
namespace {

Category CategoryOf(kernel::OperatorKind kind) {
  switch (kind) {
    case kernel::OperatorKind::kConv:
    case kernel::OperatorKind::kConv1d:
      return Category::kConvolution;
    case kernel::OperatorKind::kBatchNorm:
    case kernel::OperatorKind::kLayerNorm:
    case kernel::OperatorKind::kRmsNorm:
      return Category::kNorm;
    case kernel::OperatorKind::kAttention:
      return Category::kAttention;
    case kernel::OperatorKind::kEmbedding:
    case kernel::OperatorKind::kEmbeddingBag:
      return Category::kEmbedding;
    case kernel::OperatorKind::kNll:
    case kernel::OperatorKind::kCrossEntropy:
      return Category::kLoss;
    default:
      return kernel::IsGemm(kind) ? Category::kGemm : Category::kElementwise;
  }
}

Result<std::vector<LayerOp>> OpsOf(const ListedLayer& layer,
                                  const std::vector<kernel::Operator>& operators,
                                  std::int64_t samples) {
  std::vector<LayerOp> steps;
  for (const kernel::Operator& op : operators) {
    ORRERY_TRY(const kernel::Operator grown, ForSamples(op, samples));
    steps.push_back(OperatorOp(layer.name, CategoryOf(op.kind()), grown));
  }
  return steps;
}

// A layer that names no backward pass runs its products twice, for its input and its weights.
Result<UnitOps> OpsOf(const ListedLayer& layer, std::int64_t samples) {
  UnitOps unit;
  ORRERY_TRY(unit.forward, OpsOf(layer, layer.forward, samples));
  if (!layer.backward.empty()) {
    ORRERY_TRY(unit.backward, OpsOf(layer, layer.backward, samples));
    return unit;
  }
  unit.backward = unit.forward;
  for (const LayerOp& step : unit.forward) {
    if (kernel::IsGemm(step.op->kind())) {
      unit.backward.push_back(step);
    }
  }
  return unit;
}

}  // namespace

Result<ModelUnits> LayerListUnits(const Job& job) {
  const std::int64_t samples = job.training.micro_batch;
  const std::int64_t element = MicrobatchShapeOf(job).element_bytes;
  ModelUnits units;
  std::vector<StageUnit> chunk;
  for (const ListedLayer& layer : job.model.layer_list()->layers) {
    ORRERY_TRY(UnitOps steps, OpsOf(layer, samples));
    chunk.push_back({units.kinds.size(), job.plan.recompute == Recompute::kFull});
    units.kinds.push_back(std::move(steps));
    units.tensors.push_back({layer.parameters, {}});
    // Its result is kept as the input of the next layer.
    const std::int64_t output = layer.output_elements * samples * element;
    units.memory.push_back({.whole = output, .kept = output, .working = output});
  }
  units.stages.push_back({std::move(chunk)});
  return units;
}

}  // namespace orrery::workload
