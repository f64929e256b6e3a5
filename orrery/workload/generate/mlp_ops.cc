#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/data_type.h"
#include "orrery/kernel/operator.h"
#include "orrery/workload/generate/block_ops.h"
#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/generate/layer_writer.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/operators.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {
namespace {

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

}  // namespace orrery::workload
