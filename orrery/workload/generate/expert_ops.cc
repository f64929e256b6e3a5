#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/collective_kind.h"
#include "orrery/base/data_type.h"
#include "orrery/base/math/round_up.h"
#include "orrery/hardware/cluster.h"
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

/// Tokens that are put into the order of their experts, or back.
struct Permutation {
  std::string_view name;
  std::int64_t tokens = 0;
  std::int64_t per_token = 1;  // copies of each
  std::int64_t experts = 1;
  bool is_out = true;  // to the experts
};

void WritePermute(const Permutation& permutation, LayerWriter& writer) {
  const auto permute = [&](std::string_view pass) {
    return OperatorOp(permutation.name, Category::kExperts,
                      MakeOperator(OperatorKind::kMoePermute, writer.shape().type,
                                   {{Key::kTokens, permutation.tokens},
                                    {Key::kK, permutation.per_token},
                                    {Key::kHidden, writer.shape().hidden},
                                    {Key::kExperts, permutation.experts}})
                          .Set(Key::kPass, pass),
                      4);
  };
  // A fused kernel gathers the copies of a token to sum them; others add them one by one.
  const std::string_view sum =
      writer.shape().framework().fuses_permute || permutation.per_token == 1 ? "fwd" : "bwd";
  writer.Forward(permute(permutation.is_out ? "fwd" : sum));
  writer.Backward({permute(permutation.is_out ? sum : "fwd")});
}

// An all-to-all delivers tokens in the order of their senders; several experts of a rank need them
// in their own order.
void WriteSort(const Permutation& permutation, LayerWriter& writer) {
  const Plan& plan = writer.shape().plan();
  if (plan.ep > 1 && permutation.experts > 1 && plan.dispatch == TokenDispatch::kAllToAll) {
    WritePermute(permutation, writer);
  }
}

// The mean number of `places` where k experts of a token are, chosen evenly.
double MetOf(double places, std::int64_t k) {
  return places * (1 - std::pow(1 - 1 / places, static_cast<double>(k)));
}

// Copies of tokens that travel to experts or back. Where one copy goes to each node, it is spread
// there over the links of the island, a copy for each rank, while the next ones arrive: what takes
// longer counts, in copies to nodes.
std::int64_t SentCopies(std::int64_t copies, std::int64_t per_token, const MicrobatchShape& shape) {
  const Plan& plan = shape.plan();
  if (plan.dispatch != TokenDispatch::kFlex) {
    return copies;
  }
  const hardware::Cluster& cluster = shape.job->cluster;
  const double ranks = plan.ep * plan.expert_tp;
  const double of_island = std::max(cluster.island.gpus, 1);
  const double nodes = std::max(1.0, ranks / of_island);
  const double tokens = static_cast<double>(copies) / static_cast<double>(per_token);
  if (nodes == 1) {
    return std::llround(tokens * MetOf(ranks, per_token));
  }
  const double most = plan.expert_nodes > 0 ? plan.expert_nodes : nodes;
  const double met_nodes = std::min(MetOf(nodes, per_token), most);
  const double met_ranks = std::min(MetOf(ranks, per_token), most * of_island);
  const double nic = cluster.nics.bandwidth.bytes_per_second * cluster.nics.per_node /
                     std::max(cluster.gpus_per_node, 1);
  // Of the copies for nodes and for ranks, one stays where it is.
  const double over_nics = met_nodes * (1 - 1 / nodes) / nic;
  const double in_island =
      met_ranks * (1 - 1 / of_island) / cluster.island.per_gpu.bytes_per_second;
  return std::llround(tokens * met_nodes * std::max(1.0, in_island / over_nics));
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

/// A GEMM for each expert: `rows` of all experts together.
struct GroupedShape {
  std::int64_t groups = 1;
  std::int64_t rows = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::string_view layout = "nt";
};

/// A loop on the host over the experts of a rank, whose tokens it knows. In a graph of a whole step
/// one kernel reads how many they are.
bool IsLoop(const MicrobatchShape& shape) {
  return shape.framework().launches_each_expert && shape.framework().graphs != CudaGraphs::kStep;
}

/// Megatron captures experts without a capacity in a graph of a whole step by Transformer Engine's
/// fused network of experts only: products whose epilogues apply the activation and write the
/// narrow operands of the next one.
bool HasFusedExperts(const Experts& experts, const MicrobatchShape& shape) {
  return shape.framework().launches_each_expert && !IsLoop(shape) && shape.is_fp8() &&
         experts.expert.is_gated && shape.plan().capacity_factor == 0;
}

// One kernel for all experts; or a loop over a GEMM of each, and over casts of its operands where
// it is narrow.
LayerOp GroupedProduct(std::string_view name, const GroupedShape& grouped,
                       const MicrobatchShape& shape) {
  constexpr int kNarrowLaunches = 4;
  constexpr int kLaunches = 2;
  if (!IsLoop(shape)) {
    return OperatorOp(name, Category::kExperts,
                      MakeOperator(OperatorKind::kGroupedGemm, shape.gemm_type,
                                   {{Key::kG, grouped.groups},
                                    {Key::kM, grouped.rows},
                                    {Key::kN, grouped.n},
                                    {Key::kK, grouped.k}}));
  }
  const std::int64_t rows = std::max<std::int64_t>(1, grouped.rows / grouped.groups);
  LayerOp loop = OperatorOp(
      name, Category::kExperts, Gemm(rows, grouped.n, grouped.k, grouped.layout, shape.gemm_type),
      static_cast<int>(grouped.groups) * (shape.is_fp8() ? kNarrowLaunches : kLaunches));
  loop.repeats = static_cast<int>(grouped.groups);
  return loop;
}

/// The matrices of all experts of a rank on one side of the activation.
struct ExpertMatrices {
  std::string_view name;
  std::int64_t groups = 1;
  std::int64_t tokens = 0;
  std::int64_t in = 0;
  std::int64_t out = 0;
  bool casts_input = true;     // else what makes it writes it narrow
  bool casts_gradient = true;  // the same of the gradient of the output
};

void WriteGrouped(const ExpertMatrices& matrices, LayerWriter& writer) {
  const MicrobatchShape& shape = writer.shape();
  const auto [name, groups, tokens, in, out, casts_input, casts_gradient] = matrices;
  // One pass writes a narrow operand and its transpose, for the weight gradient.
  const auto cast = [&](std::int64_t cols) {
    return OperatorOp("cast for experts", Category::kCast,
                      Elementwise("other", matrices.tokens * cols, 2, 2, shape.type));
  };
  std::vector<LayerOp> backward;
  if (shape.is_fp8() && casts_input) {
    writer.Forward(cast(in));
  }
  if (shape.is_fp8() && casts_gradient) {
    backward.push_back(cast(out));
  }
  writer.Forward(GroupedProduct(name, {groups, tokens, out, in, "nt"}, shape));
  backward.push_back(GroupedProduct(name, {groups, tokens, in, out, "nn"}, shape));
  if (!shape.is_frozen()) {
    // Each expert has few tokens to sum over and a whole matrix to write. Fewer tokens than fill
    // all experts alike fill some of them.
    const std::int64_t each = std::max<std::int64_t>(1, DivideUp(tokens, groups));
    const std::int64_t filled = std::max<std::int64_t>(1, (tokens + each / 2) / each);
    LayerOp weights = GroupedProduct(name, {filled, filled * out, in, each, "tn"}, shape);
    weights.is_wgrad = true;
    backward.push_back(weights);
    writer.AddGradientSum(groups * in * out, backward);
    writer.KeepForWeights(tokens * (in + out) * shape.gemm_bytes());
  }
  writer.Backward(std::move(backward));
}

// A loop over experts adds the bias of each to its results, weighted by the router, map by map in
// fp32: product, sum, one list of all experts, cast. Backward, the products' gradients are summed
// over tokens for the bias, over the width for the weight.
void WriteExpertBiases(std::int64_t tokens, LayerWriter& writer) {
  const MicrobatchShape& shape = writer.shape();
  const std::int64_t n = tokens * shape.hidden;
  const std::int64_t e = shape.element_bytes;
  const auto map = [&](std::int64_t reads, std::int64_t writes) {
    return OperatorOp("bias of experts", Category::kElementwise,
                      Elementwise("other", n, reads, writes, DataType::kFp32));
  };
  for (const LayerOp& op : {map(0, 4), map(e + 4, 4), map(4, 4), map(4, e)}) {
    writer.Forward(op);
  }
  writer.Backward({map(e, 4), map(4, e), map(4, 4), map(4, 0), map(4, 4), map(4, 0)});
}

// The networks of `local` experts.
void WriteExpertNetwork(const Experts& experts, std::int64_t tokens, std::int64_t local,
                        LayerWriter& writer) {
  const MicrobatchShape& shape = writer.shape();
  const bool is_fused = HasFusedExperts(experts, shape);
  const std::int64_t width = experts.expert.width / shape.plan().expert_tp;
  const std::int64_t up = experts.expert.is_gated ? 2 * width : width;
  WriteGrouped({.name = "experts up",
                .groups = local,
                .tokens = tokens,
                .in = shape.hidden,
                .out = up,
                .casts_gradient = !is_fused},
               writer);
  if (!is_fused) {
    WriteActivation(experts.expert, tokens, width, writer);
  }
  WriteGrouped({.name = "experts down",
                .groups = local,
                .tokens = tokens,
                .in = width,
                .out = shape.hidden,
                .casts_input = !is_fused},
               writer);
  if (experts.expert.has_bias && IsLoop(shape) && !shape.framework().is_compiled) {
    WriteExpertBiases(tokens, writer);
  }
}

void WriteExpertLayer(const Experts& experts, LayerWriter& writer) {
  const MicrobatchShape& shape = writer.shape();
  const Plan& plan = shape.plan();
  const RankTokens tokens = TokensOf(experts, shape);
  const std::int64_t local = std::max<std::int64_t>(1, experts.count / plan.ep);
  const bool is_beside = plan.ep > 1 && shape.framework().overlaps_experts;
  if (experts.shared && !is_beside) {
    WriteFeedForward(*experts.shared, shape.tokens, true, writer);
  }
  WriteRouter(experts, tokens.own, writer);
  const auto write = [&] {
    WritePermute({"permute", tokens.own, experts.per_token, experts.count, true}, writer);
    WriteDispatch(experts, tokens.sent, writer);
    writer.WriteRouted([&] {
      WriteExpertTensor(true, tokens.received, writer);
      WriteSort({"sort by expert", tokens.received, 1, local, true}, writer);
      WriteExpertNetwork(experts, tokens.received, local, writer);
      WriteSort({"sort by sender", tokens.received, 1, local, false}, writer);
      WriteExpertTensor(false, tokens.received, writer);
    });
    WriteCombine(experts, tokens.sent, writer);
    WritePermute({"unpermute", tokens.own, experts.per_token, experts.count, false}, writer);
  };
  if (plan.capacity_factor > 0) {
    write();
  } else {
    writer.WriteDynamic(write);
  }
}

}  // namespace

void WriteExperts(const Experts& experts, LayerWriter& writer) {
  writer.WritePart(writer.shape().plan().recompute_parts.experts,
                   [&] { WriteExpertLayer(experts, writer); });
}

}  // namespace orrery::workload
