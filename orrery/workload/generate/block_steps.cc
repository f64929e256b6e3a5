#include "orrery/workload/generate/block_steps.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "orrery/base/round_up.h"
#include "orrery/workload/generate/operators.h"
#include "orrery/workload/generate/spelled_out.h"

namespace orrery::workload {
namespace {

using collective::CollectiveKind;
using kernel::OperatorKind;

void WriteMlp(const Transformer& model, const Block& block, LayerWriter& writer) {
  const Scene& scene = writer.scene();
  if (!block.is_parallel) {
    writer.Norm(block.norm, scene.sharded_tokens, scene.hidden);
  }
  if (const Experts* experts = block.experts()) {
    WriteExperts(*experts, writer);
  } else {
    WriteFeedForward(*block.feed_forward(), scene.tokens, true, writer);
  }
  writer.AddResidual(model.dropout);
}

Exchange OverTensor(CollectiveKind kind, std::int64_t bytes, collective::Element element) {
  return {Slot::kTensor, kind, bytes, element, 0};
}

// `more` runs behind `unit` forward and before it backward.
void Append(UnitSteps& unit, UnitSteps more) {
  std::ranges::move(more.forward, std::back_inserter(unit.forward));
  std::ranges::move(more.recompute, std::back_inserter(unit.recompute));
  std::ranges::move(unit.backward, std::back_inserter(more.backward));
  unit.backward = std::move(more.backward);
  unit.weight_inputs += more.weight_inputs;
}

// A vocabulary that is cut has its loss written out: maximum, difference, exponential, sum and
// quotient, each over all logits in fp32, and the gradient from the quotient.
void WriteSplitLoss(std::int64_t cols, LayerWriter& writer) {
  const Scene& scene = writer.scene();
  const std::int64_t logits = scene.tokens * cols;
  writer.Forward(OperatorStep("loss", Category::kLoss,
                              Elementwise("exp", logits, 20, 12, kernel::DataType::kFp32), 12));
  for (int i = 0; i < 3 && scene.tp > 1; ++i) {
    writer.Forward(ExchangeStep(
        "sum of loss",
        OverTensor(CollectiveKind::kAllReduce, 4 * scene.tokens, collective::Element::kFloat)));
  }
  writer.Backward({OperatorStep("loss", Category::kLoss,
                                Elementwise("mul", logits, 8, 8, kernel::DataType::kFp32), 5)});
}

void WriteLoss(std::int64_t cols, bool is_fused, LayerWriter& writer) {
  const Scene& scene = writer.scene();
  if (!is_fused && (scene.tp > 1 || scene.framework().splits_loss)) {
    WriteSplitLoss(cols, writer);
    return;
  }
  const kernel::DataType type = is_fused ? scene.type : kernel::DataType::kFp32;
  const auto loss = [&](std::string_view pass) {
    return OperatorStep("loss", Category::kLoss,
                        RowWise(OperatorKind::kCrossEntropy, scene.tokens, cols, pass, type), 3);
  };
  writer.Forward(loss("fwd"));
  for (int i = 0; i < 3 && scene.tp > 1; ++i) {
    writer.Forward(ExchangeStep(
        "sum of loss",
        OverTensor(CollectiveKind::kAllReduce, 4 * scene.tokens, collective::Element::kFloat)));
  }
  writer.Backward({loss("bwd")});
}

}  // namespace

std::int64_t PaddedVocabulary(const Job& job, const Transformer& model) {
  if (model.task == TransformerTask::kClassification) {
    return model.vocabulary;
  }
  const std::int64_t multiple = std::int64_t{job.framework.vocabulary_multiple} * job.plan.tp;
  return RoundUp(model.vocabulary, multiple);
}

UnitSteps BlockSteps(const Scene& scene, const Transformer& model, const Block& block) {
  LayerWriter writer(scene);
  writer.Norm(block.norm, scene.sharded_tokens, scene.hidden);
  WriteAttention(block.self, model.attention_dropout, writer);
  writer.AddResidual(model.dropout);
  if (block.cross) {
    writer.Norm(block.norm, scene.sharded_tokens, scene.hidden);
    WriteAttention(*block.cross, model.attention_dropout, writer);
    writer.AddResidual(model.dropout);
  }
  WriteMlp(model, block, writer);
  return writer.Finish();
}

UnitSteps EmbeddingSteps(const Scene& scene, const Transformer& model) {
  LayerWriter writer(scene);
  const std::int64_t n = scene.tokens * scene.hidden;
  if (model.patch > 0) {
    writer.Linear(
        {"patches", scene.tokens, 3 * model.patch * model.patch, scene.hidden, Cut::kNothing});
  } else {
    const std::int64_t rows = PaddedVocabulary(*scene.job, model) / scene.tp;
    writer.Forward(OperatorStep("embedding", Category::kEmbedding,
                                Lookup(rows, scene.hidden, scene.tokens, "fwd", scene.type)));
    Step gradient = OperatorStep("embedding", Category::kEmbedding,
                                 Lookup(rows, scene.hidden, scene.tokens, "bwd", scene.type), 4);
    gradient.is_for_weights = true;
    if (!scene.is_frozen()) {
      writer.Backward({gradient});
    }
  }
  if (scene.tp > 1) {
    const bool scatters = scene.plan().sequence_parallel;
    writer.Forward(ExchangeStep(
        scatters ? "scatter embedding" : "sum embedding",
        OverTensor(scatters ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
                   n * scene.element_bytes, scene.element)));
    if (scatters) {
      writer.Backward(
          {ExchangeStep("gather gradient", OverTensor(CollectiveKind::kAllGather,
                                                      n * scene.element_bytes, scene.element))});
    }
  }
  if (model.positions > 0) {
    const std::int64_t e = scene.element_bytes;
    writer.Elements({"positions", "add", "add", n, 2 * e, e, e, e, 2});
  }
  return writer.Finish();
}

UnitSteps HeadSteps(const Scene& scene, const Transformer& model) {
  LayerWriter writer(scene);
  writer.Norm(model.norm, scene.sharded_tokens, scene.hidden);
  if (model.task == TransformerTask::kClassification) {
    writer.Linear({"head", scene.batch, scene.hidden, model.vocabulary, Cut::kNothing});
    return writer.Finish();
  }
  if (model.has_head_transform) {
    writer.Linear({"head transform", scene.tokens, scene.hidden, scene.hidden, Cut::kNothing});
    writer.Norm(model.norm, scene.tokens, scene.hidden);
  }
  const std::int64_t vocabulary = PaddedVocabulary(*scene.job, model);
  writer.Linear({"head", scene.tokens, scene.hidden, vocabulary, Cut::kColumns});
  const std::int64_t cols = vocabulary / scene.tp;
  const std::int64_t logits = scene.tokens * cols;
  const bool is_fused = scene.framework().fuses_cross_entropy || scene.framework().is_compiled;
  if (!is_fused && scene.element_bytes < 4 && scene.is_spelled_out()) {
    writer.Forward(CastOfLogits(Pass::kForward, {scene.tokens, cols}, scene));
    writer.Backward({CastOfLogits(Pass::kBackward, {scene.tokens, cols}, scene)});
  } else if (!is_fused && scene.element_bytes < 4) {
    writer.Elements({"logits to fp32", "other", "other", logits, 2, 4, 4, 2});
  }
  WriteLoss(cols, is_fused, writer);
  return writer.Finish();
}

UnitSteps ExtraPredictionSteps(const Scene& scene, const Transformer& model) {
  LayerWriter join(scene);
  join.Norm(model.norm, scene.sharded_tokens, scene.hidden);
  join.Norm(model.norm, scene.sharded_tokens, scene.hidden);
  join.Linear({"join", scene.tokens, 2 * scene.hidden, scene.hidden, Cut::kColumns});
  UnitSteps sum = join.Finish();
  Append(sum, BlockSteps(scene, model, model.blocks.back().block));
  Append(sum, HeadSteps(scene, model));
  return sum;
}

}  // namespace orrery::workload
