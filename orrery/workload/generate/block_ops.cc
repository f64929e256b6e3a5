#include "orrery/workload/generate/block_ops.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "orrery/base/round_up.h"
#include "orrery/workload/generate/operators.h"
#include "orrery/workload/generate/unfused.h"

namespace orrery::workload {
namespace {

using collective::CollectiveKind;
using kernel::OperatorKind;

void WriteMlp(const Transformer& model, const Block& block, LayerWriter& writer) {
  const MicrobatchShape& shape = writer.shape();
  if (!block.is_parallel) {
    writer.Norm(block.norm, shape.sharded_tokens, shape.hidden);
  }
  if (const Experts* experts = block.experts()) {
    WriteExperts(*experts, writer);
  } else {
    WriteFeedForward(*block.feed_forward(), shape.tokens, true, writer);
  }
  writer.AddResidual(model.dropout);
}

Communication OverTensor(CollectiveKind kind, std::int64_t bytes, collective::Element element) {
  return {GroupRole::kTensor, kind, bytes, element, 0};
}

// `more` runs after `unit` forward and before it backward.
void Append(UnitOps& unit, UnitOps more) {
  std::ranges::move(more.forward, std::back_inserter(unit.forward));
  std::ranges::move(more.recompute, std::back_inserter(unit.recompute));
  std::ranges::move(unit.backward, std::back_inserter(more.backward));
  unit.backward = std::move(more.backward);
  unit.weight_inputs += more.weight_inputs;
}

// The loss over a split vocabulary is unfused: maximum, difference, exponential, sum and
// quotient, each over all logits in fp32, and the gradient from the quotient.
void WriteSplitLoss(std::int64_t cols, LayerWriter& writer) {
  const MicrobatchShape& shape = writer.shape();
  const std::int64_t logits = shape.tokens * cols;
  writer.Forward(OperatorOp("loss", Category::kLoss,
                            Elementwise("exp", logits, 20, 12, kernel::DataType::kFp32), 12));
  for (int i = 0; i < 3 && shape.tp > 1; ++i) {
    writer.Forward(CommunicationOp(
        "sum of loss",
        OverTensor(CollectiveKind::kAllReduce, 4 * shape.tokens, collective::Element::kFloat)));
  }
  writer.Backward({OperatorOp("loss", Category::kLoss,
                              Elementwise("mul", logits, 8, 8, kernel::DataType::kFp32), 5)});
}

void WriteLoss(std::int64_t cols, bool is_fused, LayerWriter& writer) {
  const MicrobatchShape& shape = writer.shape();
  if (!is_fused && (shape.tp > 1 || shape.framework().splits_loss)) {
    WriteSplitLoss(cols, writer);
    return;
  }
  const kernel::DataType type = is_fused ? shape.type : kernel::DataType::kFp32;
  const auto loss = [&](std::string_view pass) {
    return OperatorOp("loss", Category::kLoss,
                      RowWise(OperatorKind::kCrossEntropy, shape.tokens, cols, pass, type), 3);
  };
  writer.Forward(loss("fwd"));
  for (int i = 0; i < 3 && shape.tp > 1; ++i) {
    writer.Forward(CommunicationOp(
        "sum of loss",
        OverTensor(CollectiveKind::kAllReduce, 4 * shape.tokens, collective::Element::kFloat)));
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

UnitOps BlockOps(const MicrobatchShape& shape, const Transformer& model, const Block& block) {
  LayerWriter writer(shape);
  writer.Norm(block.norm, shape.sharded_tokens, shape.hidden);
  WriteAttention(block.self, model.attention_dropout, writer);
  writer.AddResidual(model.dropout);
  if (block.cross) {
    writer.Norm(block.norm, shape.sharded_tokens, shape.hidden);
    WriteAttention(*block.cross, model.attention_dropout, writer);
    writer.AddResidual(model.dropout);
  }
  WriteMlp(model, block, writer);
  return writer.Finish();
}

UnitOps EmbeddingOps(const MicrobatchShape& shape, const Transformer& model) {
  LayerWriter writer(shape);
  const std::int64_t n = shape.tokens * shape.hidden;
  if (model.patch > 0) {
    writer.Linear(
        {"patches", shape.tokens, 3 * model.patch * model.patch, shape.hidden, Cut::kNothing});
  } else {
    const std::int64_t rows = PaddedVocabulary(*shape.job, model) / shape.tp;
    writer.Forward(OperatorOp("embedding", Category::kEmbedding,
                              Lookup(rows, shape.hidden, shape.tokens, "fwd", shape.type)));
    LayerOp gradient = OperatorOp("embedding", Category::kEmbedding,
                                  Lookup(rows, shape.hidden, shape.tokens, "bwd", shape.type), 4);
    gradient.is_wgrad = true;
    if (!shape.is_frozen()) {
      writer.Backward({gradient});
    }
  }
  if (shape.tp > 1) {
    const bool scatters = shape.plan().sequence_parallel;
    writer.Forward(CommunicationOp(
        scatters ? "scatter embedding" : "sum embedding",
        OverTensor(scatters ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
                   n * shape.element_bytes, shape.element)));
    if (scatters) {
      writer.Backward(
          {CommunicationOp("gather gradient", OverTensor(CollectiveKind::kAllGather,
                                                         n * shape.element_bytes, shape.element))});
    }
  }
  if (model.positions > 0) {
    const std::int64_t e = shape.element_bytes;
    writer.Elements({"positions", "add", "add", n, 2 * e, e, e, e, 2});
  }
  return writer.Finish();
}

UnitOps HeadOps(const MicrobatchShape& shape, const Transformer& model) {
  LayerWriter writer(shape);
  writer.Norm(model.norm, shape.sharded_tokens, shape.hidden);
  if (model.task == TransformerTask::kClassification) {
    writer.Linear({"head", shape.batch, shape.hidden, model.vocabulary, Cut::kNothing});
    return writer.Finish();
  }
  if (model.has_head_transform) {
    writer.Linear({"head transform", shape.tokens, shape.hidden, shape.hidden, Cut::kNothing});
    writer.Norm(model.norm, shape.tokens, shape.hidden);
  }
  const std::int64_t vocabulary = PaddedVocabulary(*shape.job, model);
  writer.Linear({"head", shape.tokens, shape.hidden, vocabulary, Cut::kColumns});
  const std::int64_t cols = vocabulary / shape.tp;
  const std::int64_t logits = shape.tokens * cols;
  const bool is_fused = shape.framework().fuses_cross_entropy || shape.framework().is_compiled;
  if (!is_fused && shape.element_bytes < 4 && shape.is_unfused()) {
    writer.Forward(CastOfLogits(Pass::kForward, {shape.tokens, cols}, shape));
    writer.Backward({CastOfLogits(Pass::kBackward, {shape.tokens, cols}, shape)});
  } else if (!is_fused && shape.element_bytes < 4) {
    writer.Elements({"logits to fp32", "other", "other", logits, 2, 4, 4, 2});
  }
  WriteLoss(cols, is_fused, writer);
  return writer.Finish();
}

UnitOps ExtraPredictionOps(const MicrobatchShape& shape, const Transformer& model) {
  LayerWriter join(shape);
  join.Norm(model.norm, shape.sharded_tokens, shape.hidden);
  join.Norm(model.norm, shape.sharded_tokens, shape.hidden);
  join.Linear({"join", shape.tokens, 2 * shape.hidden, shape.hidden, Cut::kColumns});
  UnitOps sum = join.Finish();
  Append(sum, BlockOps(shape, model, model.blocks.back().block));
  Append(sum, HeadOps(shape, model));
  return sum;
}

}  // namespace orrery::workload
