#include "orrery/workload/recorded/other_gpu.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "orrery/kernel/bound.h"
#include "orrery/kernel/memo.h"
#include "orrery/kernel/work.h"
#include "orrery/workload/recorded/priced_calls.h"

namespace orrery::workload {
namespace {

using trace::CopyKind;
using trace::Trace;

constexpr std::size_t kMostNamesSaid = 5;

double Seconds(const PricedCall& call, const kernel::CostModel& costs, const hardware::Gpu& gpu) {
  std::vector<kernel::Estimate> estimates(call.operators.size());
  costs.Predict(call.operators, gpu, estimates);
  double seconds = 0;
  for (const kernel::Estimate& estimate : estimates) {
    seconds += estimate.seconds;
  }
  return seconds;
}

// Models were learned from different tables and may know a shape on one GPU only; no kernel gains
// or loses more than so much of what the papers of two generations promise.
constexpr double kMostBeyondBounds = 3;

/// The least times of a call by a GPU's papers; 0 if they say nothing.
double BoundSeconds(const PricedCall& call, const hardware::Gpu& gpu) {
  if (gpu.peak_flops.empty()) {
    return 0;
  }
  double seconds = 0;
  for (const kernel::Operator& op : call.operators) {
    seconds += kernel::BoundOf(op, kernel::WorkOf(op), gpu).Seconds();
  }
  return seconds;
}

bool RunSameKernels(const hardware::Gpu& lhs, const hardware::Gpu& rhs) {
  return !lhs.generation.empty() && lhs.generation == rhs.generation;
}

/// How a ratio was found, and the ratio of times.
struct Scale {
  ScaledBy by = ScaledBy::kMemory;
  double factor = 1;
};

/// What takes longer the less of something a GPU has.
double Inverse(Bandwidth from, Bandwidth to) {
  return from.bytes_per_second > 0 && to.bytes_per_second > 0
             ? from.bytes_per_second / to.bytes_per_second
             : 1.0;
}

class Scaler {
 public:
  Scaler(const Trace& recording, const hardware::Gpu& from, const hardware::Gpu& to,
         const kernel::CostModel& costs)
      : recording_(recording),
        from_(from),
        to_(to),
        of_operator_(recording.host_ops.size(), std::nullopt) {
    PriceCalls(kernel::MemoizedCostModel(costs, from), kernel::MemoizedCostModel(costs, to));
  }

  [[nodiscard]] Scale Of(RowId activity) const {
    if (recording_.activities.kind[activity] == trace::ActivityKind::kMemcpy) {
      return OfCopy(recording_.activities.copy_kind[activity]);
    }
    const RowId op = recording_.activities.host_op[activity];
    return op != kNoRow && of_operator_[op] ? *of_operator_[op] : Scale{.factor = MemoryFactor()};
  }

  [[nodiscard]] std::vector<std::string> TakeUnknownNames() { return std::move(unknown_names_); }

 private:
  void PriceCalls(const kernel::CostModel& costs_from, const kernel::CostModel& costs_to) {
    for (const PricedCall& call : PricedOperators(recording_)) {
      if (call.meaning == kernel::AtenMeaning::kUnknown) {
        NoteUnknown(call.node);
      } else {
        of_operator_[call.node] = OfCall(call, costs_from, costs_to);
      }
    }
    // What a priced call calls is part of it; parents come first.
    for (RowId op = 0; op < of_operator_.size(); ++op) {
      const RowId parent = recording_.host_ops.parent[op];
      if (!of_operator_[op] && parent != kNoRow) {
        of_operator_[op] = of_operator_[parent];
      }
    }
  }

  [[nodiscard]] std::optional<Scale> OfCall(const PricedCall& call,
                                            const kernel::CostModel& costs_from,
                                            const kernel::CostModel& costs_to) const {
    const double bound_from_s = BoundSeconds(call, from_);
    const double bound_to_s = BoundSeconds(call, to_);
    const bool has_bounds = bound_from_s > 0 && bound_to_s > 0;
    if (has_bounds && RunSameKernels(from_, to_)) {
      return Scale{ScaledBy::kBounds, bound_to_s / bound_from_s};
    }
    const double before_s = Seconds(call, costs_from, from_);
    const double after_s = Seconds(call, costs_to, to_);
    if (before_s <= 0 || after_s <= 0) {
      return std::nullopt;
    }
    const double factor = after_s / before_s;
    const double bound = has_bounds ? bound_to_s / bound_from_s : factor;
    return Scale{ScaledBy::kModels,
                 std::clamp(factor, bound / kMostBeyondBounds, bound * kMostBeyondBounds)};
  }

  void NoteUnknown(RowId op) {
    std::string name(recording_.Text(recording_.host_ops.name[op]));
    if (std::ranges::find(unknown_names_, name) == unknown_names_.end()) {
      unknown_names_.push_back(std::move(name));
    }
  }

  [[nodiscard]] double MemoryFactor() const { return Inverse(from_.memory, to_.memory); }

  [[nodiscard]] Scale OfCopy(CopyKind kind) const {
    switch (kind) {
      case CopyKind::kHostToDevice:
      case CopyKind::kDeviceToHost:
        return {ScaledBy::kLinks, Inverse(from_.host_link, to_.host_link)};
      case CopyKind::kPeerToPeer:
        return {ScaledBy::kLinks, Inverse(from_.link, to_.link)};
      default:
        return {ScaledBy::kMemory, MemoryFactor()};
    }
  }

  const Trace& recording_;
  const hardware::Gpu& from_;
  const hardware::Gpu& to_;
  std::vector<std::optional<Scale>> of_operator_;  // HostOps
  std::vector<std::string> unknown_names_;
};

}  // namespace

std::string RemarkOn(const ScalingSummary& summary) {
  const ScalingSummary::Share& memory = summary.shares[static_cast<std::size_t>(ScaledBy::kMemory)];
  std::int64_t total_ns = 0;
  for (const ScalingSummary::Share& share : summary.shares) {
    total_ns += share.from_ns;
  }
  if (memory.activities == 0 || total_ns == 0) {
    return "";
  }
  const std::size_t num_said = std::min(summary.unknown_names.size(), kMostNamesSaid);
  const auto said_end = summary.unknown_names.begin() + static_cast<std::ptrdiff_t>(num_said);
  const std::vector<std::string> said(summary.unknown_names.begin(), said_end);
  return fmt::format(
      "{} kernels and copies, {:.1f} % of the recorded GPU time, are scaled by "
      "memory bandwidth, because their calls are unknown to the models{}{}{}",
      memory.activities, 100 * static_cast<double>(memory.from_ns) / static_cast<double>(total_ns),
      said.empty() ? "" : ": ", fmt::join(said, ", "),
      num_said < summary.unknown_names.size() ? " and others" : "");
}

ScalingSummary ScaleToGpu(const hardware::Gpu& from, const hardware::Gpu& to,
                          const kernel::CostModel& costs, Trace& recording) {
  Scaler scaler(recording, from, to, costs);
  ScalingSummary summary;
  for (RowId row = 0; row < recording.activities.size(); ++row) {
    const Scale scale = scaler.Of(row);
    std::int64_t& duration_ns = recording.activities.duration_ns[row];
    ScalingSummary::Share& share = summary.shares[static_cast<std::size_t>(scale.by)];
    ++share.activities;
    share.from_ns += duration_ns;
    duration_ns = std::llround(static_cast<double>(duration_ns) * scale.factor);
    share.to_ns += duration_ns;
  }
  summary.unknown_names = scaler.TakeUnknownNames();
  return summary;
}

}  // namespace orrery::workload
