#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/collective_kind.h"
#include "orrery/base/data_type.h"
#include "orrery/kernel/operator.h"
#include "orrery/workload/generate/block_ops.h"
#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/generate/layer_writer.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/operators.h"
#include "orrery/workload/plan/activation_memory.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {
namespace {
using kernel::Key;
using kernel::OperatorKind;

struct FunctionNames {
  std::string_view forward;
  std::string_view backward;
};

// By Activation.
constexpr std::array<FunctionNames, 5> kFunctionNames{{{"gelu_tanh", "gelu_tanh_backward"},
                                                       {"gelu_tanh", "gelu_tanh_backward"},
                                                       {"relu", "relu_backward"},
                                                       {"silu", "silu_backward"},
                                                       {"relu", "relu_backward"}}};

// Tokens of one rank and one micro-batch around its experts.
struct RankTokens {
  std::int64_t own = 0;       // before they are sent
  std::int64_t sent = 0;      // copies, one for each expert that a token goes to
  std::int64_t received = 0;  // that the busiest rank's experts compute
};

RankTokens TokensOf(const Experts& experts, const MicrobatchShape& shape) {
  const Plan& plan = shape.plan();
  RankTokens tokens;
  tokens.own = plan.sequence_parallel ? shape.sharded_tokens : shape.tokens;
  const ExpertTokens load = TokensOfExpertRank(experts, plan, tokens.own);
  tokens.sent = std::llround(load.mean);
  tokens.received = std::llround(std::ceil(load.busiest)) * plan.expert_tp;
  return tokens;
}

/// Without a capacity the host has to know how many tokens each expert gets.
bool ReadsRouting(const MicrobatchShape& shape) {
  const Framework& framework = shape.framework();
  return framework.reads_routing && framework.graphs != CudaGraphs::kStep &&
         shape.plan().capacity_factor == 0;
}

void WriteRouter(const Experts& experts, std::int64_t tokens, LayerWriter& writer) {
  constexpr int kChoiceLaunches = 20;    // scores, top k, masks, counts, loss of balance
  constexpr int kGradientLaunches = 12;  // of scores and of the loss of balance
  const MicrobatchShape& shape = writer.shape();
  writer.Linear({"router", tokens, shape.hidden, experts.count, Cut::kNothing});
  LayerOp choose = OperatorOp(
      "choose experts", Category::kExperts,
      MakeOperator(
          OperatorKind::kTopK, DataType::kFp32,
          {{Key::kRows, tokens}, {Key::kCols, experts.count}, {Key::kK, experts.per_token}}),
      kChoiceLaunches);
  // An all-to-all needs the number of tokens for each rank on the host.
  choose.host_waits = ReadsRouting(shape) && shape.plan().dispatch == TokenDispatch::kAllToAll;
  writer.Forward(choose);
  writer.Backward({OperatorOp("choose experts", Category::kExperts,
                              Elementwise("mul", tokens * experts.count, 4, 4, DataType::kFp32),
                              kGradientLaunches)});
}

void WritePermute(std::string_view name, std::int64_t tokens, const Experts& experts,
                  LayerWriter& writer) {
  const auto permute = [&](std::string_view pass) {
    return OperatorOp(name, Category::kExperts,
                      MakeOperator(OperatorKind::kMoePermute, writer.shape().type,
                                   {{Key::kTokens, tokens},
                                    {Key::kK, experts.per_token},
                                    {Key::kHidden, writer.shape().hidden},
                                    {Key::kExperts, experts.count}})
                          .Set(Key::kPass, pass),
                      4);
  };
  // A fused kernel gathers the copies of a token to sum them; others add them one by one.
  const bool is_out = name == "permute";
  const std::string_view sum = writer.shape().framework().fuses_permute ? "fwd" : "bwd";
  writer.Forward(permute(is_out ? "fwd" : sum));
  writer.Backward({permute(is_out ? sum : "fwd")});
}

// Copies of tokens that travel to experts or back.
// Where one copy goes to each node and is spread there, a token travels as often as its experts are
// on different nodes: of `nodes`, k experts that are chosen evenly meet nodes · (1 − (1 −
// 1/nodes)^k).
std::int64_t SentCopies(std::int64_t copies, std::int64_t per_token, const MicrobatchShape& shape) {
  const Plan& plan = shape.plan();
  if (plan.dispatch != TokenDispatch::kFlex) {
    return copies;
  }
  const int ranks = plan.ep * plan.expert_tp;
  const double nodes =
      std::max(1.0, static_cast<double>(ranks) / std::max(shape.job->cluster.island.gpus, 1));
  // Within one island each rank with experts of a token gets its copy.
  const double places = nodes > 1 ? nodes : ranks;
  double met = places * (1 - std::pow(1 - 1 / places, static_cast<double>(per_token)));
  if (plan.expert_nodes > 0 && nodes > 1) {
    met = std::min(met, static_cast<double>(plan.expert_nodes));
  }
  return std::llround(static_cast<double>(copies) * met / static_cast<double>(per_token));
}

LayerOp TokenDispatchCommunication(std::string_view name, bool gathers, std::int64_t copies,
                                   const MicrobatchShape& shape) {
  // Tokens that are inputs of fp8 GEMMs may be sent in fp8; their sums are not.
  const std::int64_t bytes =
      gathers && shape.is_fp8() && shape.framework().sends_narrow_tokens ? 1 : shape.element_bytes;
  Communication communication = {GroupRole::kExperts, CollectiveKind::kAllToAll,
                                 copies * shape.hidden * bytes, shape.type, 0};
  if (shape.plan().dispatch == TokenDispatch::kAllGather) {
    communication.kind = gathers ? CollectiveKind::kAllGather : CollectiveKind::kReduceScatter;
    communication.bytes =
        shape.sharded_tokens * shape.plan().ep * shape.hidden * shape.element_bytes;
  }
  LayerOp op = CommunicationOp(name, communication);
  op.is_routed = communication.kind == CollectiveKind::kAllToAll;
  return op;
}

int NumOperators(const std::vector<LayerOp>& ops) {
  return static_cast<int>(
      std::ranges::count_if(ops, [](const LayerOp& op) { return op.op.has_value(); }));
}

// Sends tokens to their experts; the shared expert may overlap with it.
void WriteDispatch(const Experts& experts, std::int64_t copies, LayerWriter& writer) {
  const MicrobatchShape& shape = writer.shape();
  const bool is_sent = shape.plan().ep > 1;
  const std::int64_t sent = SentCopies(copies, experts.per_token, shape);
  LayerOp forward = TokenDispatchCommunication("dispatch", true, sent, shape);
  forward.host_waits = ReadsRouting(shape) && shape.plan().dispatch == TokenDispatch::kFlex;
  LayerOp backward = TokenDispatchCommunication("dispatch", false, sent, shape);
  const bool is_beside = is_sent && experts.shared && shape.framework().overlaps_experts;
  if (is_beside) {
    LayerWriter alone(shape);
    WriteFeedForward(*experts.shared, shape.tokens, true, alone);
    const UnitOps shared = alone.Finish();
    forward.communication->overlapped_ops = NumOperators(shared.forward);
    backward.communication->overlapped_ops = NumOperators(shared.backward);
  }
  if (is_sent) {
    writer.Forward(forward);
  }
  if (is_beside) {
    WriteFeedForward(*experts.shared, shape.tokens, true, writer);
  }
  if (is_sent) {
    writer.Backward({backward});
  }
}

void WriteCombine(const Experts& experts, std::int64_t copies, LayerWriter& writer) {
  const MicrobatchShape& shape = writer.shape();
  if (shape.plan().ep > 1) {
    const std::int64_t sent = SentCopies(copies, experts.per_token, shape);
    writer.Forward(TokenDispatchCommunication("combine", false, sent, shape));
    writer.Backward({TokenDispatchCommunication("combine", true, sent, shape)});
  }
}

// Tensor-parallel ranks of experts gather tokens before and sum results after them.
void WriteExpertTensor(bool is_before, std::int64_t tokens, LayerWriter& writer) {
  const MicrobatchShape& shape = writer.shape();
  if (shape.plan().expert_tp == 1) {
    return;
  }
  const auto op = [&](std::string_view name, CollectiveKind kind) {
    return CommunicationOp(name, shape.Over(GroupRole::kExpertTensor, kind, tokens * shape.hidden));
  };
  if (is_before) {
    writer.Forward(op("gather tokens", CollectiveKind::kAllGather));
    writer.Backward({op("scatter token gradients", CollectiveKind::kReduceScatter)});
  } else {
    writer.Forward(op("scatter tokens", CollectiveKind::kReduceScatter));
    writer.Backward({op("gather token gradients", CollectiveKind::kAllGather)});
  }
}

void WriteGrouped(std::string_view name, std::int64_t groups, std::int64_t tokens, std::int64_t in,
                  std::int64_t out, LayerWriter& writer) {
  // A loop over experts launches a GEMM for each, and casts of its operands where it is narrow.
  constexpr int kNarrowLaunches = 4;
  constexpr int kLaunches = 2;
  const Framework& framework = writer.shape().framework();
  const bool is_loop = framework.launches_each_expert && framework.graphs != CudaGraphs::kStep;
  const auto gemm = [&](std::int64_t n, std::int64_t k) {
    if (!is_loop) {
      return OperatorOp(
          name, Category::kExperts,
          MakeOperator(OperatorKind::kGroupedGemm, writer.shape().gemm_type,
                       {{Key::kG, groups}, {Key::kM, tokens}, {Key::kN, n}, {Key::kK, k}}));
    }
    LayerOp loop = OperatorOp(
        name, Category::kExperts,
        MakeOperator(
            OperatorKind::kGemm, writer.shape().gemm_type,
            {{Key::kM, std::max<std::int64_t>(1, tokens / groups)}, {Key::kN, n}, {Key::kK, k}}),
        static_cast<int>(groups) * (writer.shape().is_fp8() ? kNarrowLaunches : kLaunches));
    loop.repeats = static_cast<int>(groups);
    return loop;
  };
  // One pass writes a narrow operand and its transpose, for the weight gradient.
  const auto cast = [&](std::int64_t cols) {
    return OperatorOp("cast for experts", Category::kCast,
                      Elementwise("other", tokens * cols, 2, 2, writer.shape().type));
  };
  std::vector<LayerOp> backward;
  if (writer.shape().is_fp8()) {
    writer.Forward(cast(in));
    backward.push_back(cast(out));
  }
  writer.Forward(gemm(out, in));
  const LayerOp gradient = gemm(in, out);
  backward.push_back(gradient);
  if (writer.shape().is_frozen()) {
    writer.Backward(std::move(backward));
    return;
  }
  LayerOp weights = gradient;
  weights.is_wgrad = true;
  backward.push_back(weights);
  writer.Backward(std::move(backward));
  writer.KeepForWeights(tokens * (in + out) * writer.shape().gemm_bytes());
}

// A chain of maps by their functions; "add+" reads two operands.
std::vector<LayerOp> ChainOps(std::initializer_list<std::string_view> maps, std::int64_t n,
                              const MicrobatchShape& shape) {
  const std::int64_t e = shape.element_bytes;
  std::vector<LayerOp> ops;
  for (const std::string_view map : maps) {
    const bool is_binary = map.ends_with('+');
    ops.push_back(OperatorOp("activation", Category::kElementwise,
                             Elementwise(map.substr(0, map.size() - (is_binary ? 1 : 0)), n,
                                         (is_binary ? 2 : 1) * e, e, shape.type)));
  }
  return ops;
}

// x/2 · (1 + tanh(c · (x + d · x³))), map by map; backward, the sums of constants cost nothing, the
// cube's gradient is three maps, and three gradients of x are added.
void WriteOutGelu(std::int64_t n, LayerWriter& writer) {
  const MicrobatchShape& shape = writer.shape();
  for (const LayerOp& op :
       ChainOps({"mul", "pow", "mul", "add+", "mul", "tanh", "add", "mul+"}, n, shape)) {
    writer.Forward(op);
  }
  writer.Backward(ChainOps(
      {"mul+", "mul+", "tanh_backward+", "mul", "mul", "pow", "mul", "mul+", "add+", "mul", "add+"},
      n, shape));
}

void WriteFunction(const FeedForward& mlp, std::int64_t rows, std::int64_t width,
                   LayerWriter& writer) {
  const FunctionNames& names = kFunctionNames[static_cast<std::size_t>(mlp.activation)];
  const std::int64_t e = writer.shape().element_bytes;
  const std::int64_t n = rows * width;
  const DataType type = writer.shape().type;
  const Framework& framework = writer.shape().framework();
  const bool is_fused = framework.fuses_bias_activation || framework.is_compiled;
  if (!mlp.is_gated) {
    if (mlp.has_bias && !is_fused) {
      // The GEMM adds it; its gradient is a separate sum.
      writer.Backward(
          {OperatorOp("bias", Category::kElementwise, Elementwise("other", n, e, 0, type))});
    }
    if (mlp.activation == Activation::kWrittenOutGelu && !is_fused) {
      WriteOutGelu(n, writer);
      return;
    }
    if (mlp.activation == Activation::kSquaredRelu && !framework.is_compiled) {
      // Frameworks have no fused kernel: relu and square, forward and backward.
      writer.Elements({"relu", names.forward, names.backward, n, e, e, 2 * e, e});
      writer.Elements({"square", "pow", "mul", n, e, e, 4 * e, 2 * e, 2});
      return;
    }
    writer.Elements({"activation", names.forward, names.backward, n, e, e, 2 * e, e});
  } else if (is_fused) {
    writer.Elements({"gated activation", names.forward, names.backward, n, 2 * e, e, 3 * e, 2 * e});
  } else {
    writer.Elements({"activation", names.forward, names.backward, n, e, e, 2 * e, e});
    writer.Elements({"gate", "mul", "mul", n, 2 * e, e, 4 * e, 2 * e, 2});
  }
}

void WriteExpertLayer(const Experts& experts, LayerWriter& writer) {
  const MicrobatchShape& shape = writer.shape();
  const Plan& plan = shape.plan();
  const RankTokens tokens = TokensOf(experts, shape);
  const std::int64_t local = std::max<std::int64_t>(1, experts.count / plan.ep);
  const std::int64_t width = experts.expert.width / plan.expert_tp;
  const bool is_beside = plan.ep > 1 && shape.framework().overlaps_experts;
  if (experts.shared && !is_beside) {
    WriteFeedForward(*experts.shared, shape.tokens, true, writer);
  }
  WriteRouter(experts, tokens.own, writer);
  const auto write = [&] {
    WritePermute("permute", tokens.own, experts, writer);
    WriteDispatch(experts, tokens.sent, writer);
    writer.WriteRouted([&] {
      WriteExpertTensor(true, tokens.received, writer);
      const std::int64_t up = experts.expert.is_gated ? 2 * width : width;
      WriteGrouped("experts up", local, tokens.received, shape.hidden, up, writer);
      WriteActivation(experts.expert, tokens.received, width, writer);
      WriteGrouped("experts down", local, tokens.received, width, shape.hidden, writer);
      WriteExpertTensor(false, tokens.received, writer);
    });
    WriteCombine(experts, tokens.sent, writer);
    WritePermute("unpermute", tokens.own, experts, writer);
  };
  if (plan.capacity_factor > 0) {
    write();
  } else {
    writer.WriteDynamic(write);
  }
}

}  // namespace

void WriteActivation(const FeedForward& mlp, std::int64_t rows, std::int64_t width,
                     LayerWriter& writer) {
  writer.WritePart(writer.shape().plan().recompute_parts.activations,
                   [&] { WriteFunction(mlp, rows, width, writer); });
}

void WriteFeedForward(const FeedForward& mlp, std::int64_t rows, bool is_cut, LayerWriter& writer) {
  const MicrobatchShape& shape = writer.shape();
  const std::int64_t up = mlp.is_gated ? 2 * mlp.width : mlp.width;
  // Norm and activation write the fp8 inputs of GEMMs themselves, forward and backward.
  writer.Linear({.name = "mlp up",
                 .rows = rows,
                 .in = shape.hidden,
                 .out = up,
                 .cut = is_cut ? Cut::kColumns : Cut::kNothing,
                 .casts_input = false,
                 .casts_gradient = false,
                 .branches = mlp.is_gated ? 2 : 1,
                 .adapted_by = AdapterTargets::kLinear});
  WriteActivation(mlp, rows, is_cut ? mlp.width / shape.tp : mlp.width, writer);
  writer.Linear({.name = "mlp down",
                 .rows = rows,
                 .in = mlp.width,
                 .out = shape.hidden,
                 .cut = is_cut ? Cut::kRows : Cut::kNothing,
                 .casts_input = false,
                 .adapted_by = AdapterTargets::kLinear});
}

void WriteExperts(const Experts& experts, LayerWriter& writer) {
  writer.WritePart(writer.shape().plan().recompute_parts.experts,
                   [&] { WriteExpertLayer(experts, writer); });
}

}  // namespace orrery::workload
