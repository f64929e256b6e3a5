#include "orrery/analyze/operator_work.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/kernel/aten/aten.h"
#include "orrery/kernel/aten/recorded_call.h"
#include "orrery/kernel/operator.h"
#include "orrery/kernel/work.h"
#include "orrery/trace/kernel_class.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::analyze {
namespace {

using kernel::OperatorKind;

/// Kinds whose FLOPs and bytes follow from the shapes alone, not from what the tensors hold.
constexpr std::array kKindsOfKnownWork{
    OperatorKind::kGemm,      OperatorKind::kBatchedGemm, OperatorKind::kAttention,
    OperatorKind::kConv,      OperatorKind::kConv1d,      OperatorKind::kLayerNorm,
    OperatorKind::kRmsNorm,   OperatorKind::kBatchNorm,   OperatorKind::kGroupNorm,
    OperatorKind::kSoftmax,   OperatorKind::kElementwise, OperatorKind::kCopy,
    OperatorKind::kTranspose, OperatorKind::kFill,        OperatorKind::kReduce,
    OperatorKind::kDropout};

// Profiles do not say the types of tensors in lists, such as those of a concatenation.
bool HasAllTypes(const kernel::AtenCall& call) {
  return std::ranges::all_of(call.inputs, [](const kernel::AtenValue& value) {
    const auto* const list = std::get_if<std::vector<kernel::AtenTensor>>(&value);
    return list == nullptr || std::ranges::all_of(*list, [](const kernel::AtenTensor& tensor) {
             return tensor.type.has_value();
           });
  });
}

// The size of a result of a convolution follows from its stride, which old profiles do not record.
bool HasSettings(const kernel::AtenCall& call, const kernel::Operator& op) {
  const bool is_convolution =
      op.kind() == OperatorKind::kConv || op.kind() == OperatorKind::kConv1d;
  return !is_convolution || std::ranges::any_of(call.inputs, [](const kernel::AtenValue& value) {
    return std::holds_alternative<std::vector<std::int64_t>>(value);
  });
}

std::vector<kernel::Operator> KnownOperators(const kernel::AtenCall& call) {
  kernel::AtenOperators found = kernel::OperatorsOf(call);
  const bool is_known =
      found.meaning == kernel::AtenMeaning::kPriced && HasAllTypes(call) &&
      std::ranges::all_of(found.operators, [&](const kernel::Operator& each) {
        return std::ranges::count(kKindsOfKnownWork, each.kind()) > 0 && HasSettings(call, each);
      });
  return is_known ? std::move(found.operators) : std::vector<kernel::Operator>();
}

}  // namespace

const std::vector<kernel::Operator>& OperatorsOfCalls::Of(RowId host_op) {
  const trace::HostOps& ops = trace_.host_ops;
  const Key key{ops.name[host_op], ops.input_dims[host_op], ops.input_types[host_op],
                ops.input_strides[host_op], ops.concrete_inputs[host_op]};
  const auto [place, is_new] = known_.try_emplace(key);
  if (is_new) {
    place->second = KnownOperators(kernel::CallOfOperator(trace_, host_op));
  }
  return place->second;
}

RowId OperatorsOfCalls::CallOfKernel(RowId host_op, trace::KernelClass kernel_class) {
  const RowId parent = trace_.host_ops.parent[host_op];
  const bool is_of_parent =
      kernel_class == trace::KernelClass::kAttention && parent != kNoRow && Of(host_op).empty();
  return is_of_parent ? parent : host_op;
}

std::optional<OperatorWork> WorkOfCall(const std::vector<kernel::Operator>& operators) {
  if (operators.empty() || std::ranges::any_of(operators, kernel::HasBothGradients)) {
    return std::nullopt;
  }
  OperatorWork sum{.type = operators.front().type()};
  for (const kernel::Operator& op : operators) {
    const kernel::Work work = kernel::WorkOf(op);
    sum.flops += work.flops;
    sum.bytes += work.Bytes();
  }
  return sum;
}

}  // namespace orrery::analyze
