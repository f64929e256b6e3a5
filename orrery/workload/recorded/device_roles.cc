#include "orrery/workload/recorded/device_roles.h"

#include <algorithm>
#include <string>
#include <utility>

#include "orrery/kernel/aten.h"
#include "orrery/kernel/bound.h"
#include "orrery/kernel/work.h"
#include "orrery/workload/recorded/aten_call.h"
#include "orrery/workload/generate/layer_op.h"

namespace orrery::workload {
namespace {

using kernel::OperatorKind;
using trace::ActivityKind;

constexpr std::uint32_t kMillion = 1'000'000;

std::uint32_t Millionths(double share) {
  return static_cast<std::uint32_t>(std::clamp(share, 0.0, 1.0) * kMillion);
}

Category CategoryOf(OperatorKind kind) {
  switch (kind) {
    case OperatorKind::kGemm:
    case OperatorKind::kBatchedGemm:
      return Category::kGemm;
    case OperatorKind::kGroupedGemm:
    case OperatorKind::kMoe:
    case OperatorKind::kMoePermute:
      return Category::kExperts;
    case OperatorKind::kAttention:
      return Category::kAttention;
    case OperatorKind::kConv:
    case OperatorKind::kConv1d:
      return Category::kConvolution;
    case OperatorKind::kEmbedding:
    case OperatorKind::kEmbeddingBag:
      return Category::kEmbedding;
    case OperatorKind::kLayerNorm:
    case OperatorKind::kRmsNorm:
    case OperatorKind::kBatchNorm:
      return Category::kNorm;
    case OperatorKind::kNll:
    case OperatorKind::kCrossEntropy:
      return Category::kLoss;
    case OperatorKind::kQuantize:
      return Category::kCast;
    case OperatorKind::kOptimizer:
    case OperatorKind::kGradientNorm:
      return Category::kOptimizer;
    default:
      return Category::kElementwise;
  }
}

}  // namespace

DeviceRoles::DeviceRoles(const trace::Trace& recording, PhaseRanges phases,
                         const hardware::Gpu& gpu)
    : recording_(recording), phases_(std::move(phases)), gpu_(gpu) {
  for (RowId activity = 0; activity < recording.activities.size(); ++activity) {
    const RowId host_op = recording.activities.host_op[activity];
    if (host_op != kNoRow) {
      time_of_operator_ns_[host_op] += recording.activities.duration_ns[activity];
    }
  }
}

DeviceRole DeviceRoles::RoleOf(RowId activity) {
  DeviceRole role{.sm_share = kMillion};
  const RowId host_op = recording_.activities.host_op[activity];
  if (recording_.activities.kind[activity] != ActivityKind::kKernel) {
    role = {.category = "copies"};
  } else if (host_op != kNoRow) {
    const auto [known, is_new] = role_of_operator_.try_emplace(host_op, role);
    if (is_new) {
      Describe(host_op, known->second);
    }
    role = known->second;
  }
  const PhaseAt phase = phases_.At(LaunchedAt(activity));
  role.phase = phase.phase;
  role.microbatch = phase.microbatch;
  return role;
}

// The innermost operator launches; where it is not understood, the one that called it may be.
void DeviceRoles::Describe(RowId host_op, DeviceRole& role) {
  for (RowId row = host_op; row != kNoRow; row = recording_.host_ops.parent[row]) {
    const kernel::AtenOperators asked = kernel::OperatorsOf(CallOfOperator(recording_, row));
    if (asked.meaning != kernel::AtenMeaning::kPriced || asked.operators.empty()) {
      continue;
    }
    const kernel::Operator& op = asked.operators.front();
    role.category = Name(CategoryOf(op.kind()));
    role.operation = static_cast<std::uint8_t>(op.kind());
    const double seconds = SecondsOf(host_op);
    if (row != host_op || seconds <= 0) {
      return;
    }
    const kernel::Work work = kernel::WorkOf(op);
    if (gpu_.memory.bytes_per_second > 0) {
      role.memory_share =
          Millionths(work.Bytes() / seconds / static_cast<double>(gpu_.memory.bytes_per_second));
    }
    role.compute_share = Millionths(kernel::BoundOf(op, work, gpu_).compute_seconds / seconds);
    return;
  }
}

double DeviceRoles::SecondsOf(RowId host_op) const {
  const auto found = time_of_operator_ns_.find(host_op);
  return found == time_of_operator_ns_.end() ? 0 : static_cast<double>(found->second) * 1e-9;
}

std::int64_t DeviceRoles::LaunchedAt(RowId activity) const {
  const RowId launch = recording_.activities.launch[activity];
  return launch == kNoRow ? recording_.activities.begin_ns[activity]
                          : recording_.runtime_calls.begin_ns[launch];
}

}  // namespace orrery::workload
