#include "orrery/workload/generate/optimizer_ops.h"

#include <algorithm>

#include "orrery/workload/generate/layer_writer.h"
#include "orrery/workload/generate/operators.h"

namespace orrery::workload {
namespace {

using kernel::Key;
using kernel::OperatorKind;

constexpr std::int64_t kElementsOfChunk = 65'536;

kernel::Operator Update(const Job& job, std::int64_t n, std::int64_t tensors) {
  const Precision& precision = job.training.precision;
  const bool has_master = precision.has_master && precision.compute != kernel::DataType::kFp32;
  return kernel::Operator(OperatorKind::kOptimizer,
                          has_master ? precision.compute : kernel::DataType::kFp32)
      .Set(Key::kFunction, job.training.optimizer == OptimizerKind::kSgd ? "sgd" : "adamw")
      .Set(Key::kN, n)
      .Set(Key::kTensors, tensors)
      .Set(Key::kMaster, has_master ? 1 : 0)
      .Set(Key::kChunks, std::max<std::int64_t>(1, n / kElementsOfChunk));
}

// Gradients of fp16 were scaled up: they are scaled back, and the step is skipped on overflow.
void AddOverflowCheck(const Job& job, std::int64_t n, std::vector<LayerOp>& ops) {
  ops.push_back(OperatorOp("unscale and check gradients", Category::kOptimizer,
                           Elementwise("mul", n, 4, 4, kernel::DataType::kFp32)));
  if (job.gpus > 1) {
    ops.push_back(CommunicationOp("overflow anywhere",
                                  {GroupRole::kAll, collective::CollectiveKind::kAllReduce, 4,
                                   collective::Element::kFloat, 0}));
  }
}

}  // namespace

std::int64_t OwnedParameters(const Plan& plan, const RankParameters& parameters) {
  if (plan.sharding == Sharding::kReplicated) {
    return parameters.dense + parameters.experts;
  }
  return parameters.dense / ShardRanks(plan, DenseReplicas(plan)) +
         parameters.experts / ShardRanks(plan, ExpertReplicas(plan));
}

std::vector<LayerOp> OptimizerOps(const Job& job, const StageTensors& stage) {
  if (job.training.optimizer == OptimizerKind::kSkipped) {
    return {};
  }
  const StageParameters parameters = stage.Parameters();
  const std::int64_t n = std::max<std::int64_t>(1, OwnedParameters(job.plan, parameters.trained));
  const std::int64_t tensors = std::max<std::int64_t>(1, parameters.num_tensors);
  std::vector<LayerOp> ops;
  if (job.training.precision.compute == kernel::DataType::kFp16) {
    AddOverflowCheck(job, n, ops);
  }
  ops.push_back(OperatorOp("norm of gradients", Category::kOptimizer,
                           kernel::Operator(OperatorKind::kGradientNorm, kernel::DataType::kFp32)
                               .Set(Key::kN, n)
                               .Set(Key::kTensors, tensors)
                               .Set(Key::kChunks, std::max<std::int64_t>(1, n / kElementsOfChunk)),
                           10));
  if (job.gpus > 1) {
    ops.push_back(
        CommunicationOp("sum of norms", {GroupRole::kAll, collective::CollectiveKind::kAllReduce, 4,
                                         collective::Element::kFloat, 0}));
  }
  if (job.plan.offload_optimizer) {
    return ops;  // the host updates
  }
  ops.push_back(OperatorOp("clip gradients", Category::kOptimizer,
                           Elementwise("mul", n, 4, 4, kernel::DataType::kFp32)));
  ops.push_back(OperatorOp("update", Category::kOptimizer, Update(job, n, tensors), 4));
  return ops;
}

}  // namespace orrery::workload
