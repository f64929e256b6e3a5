#include "orrery/simulate/explain/interval.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "orrery/learn/interval.h"
#include "orrery/simulate/explain/baselines.h"
#include "orrery/simulate/explain/breakdown.h"
#include "orrery/simulate/explain/step_intervals.h"
#include "orrery/workload/generate/generate.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/model.h"

namespace orrery::simulate {
namespace {

constexpr double kPicoseconds = 1e12;
/// Shares of the step that follow each fitted scalar, in their order.
using Sensitivity = std::array<double, workload::kNumScalars>;

/// Scalars follow the parts of a step in their order; the spread of ranks is the last.
constexpr std::size_t kSpread = kNumStepParts;

StepPart PlaceOf(const TimeShare& share) {
  switch (share.kind) {
    case TimeKind::kTransfer:
    case TimeKind::kWait:
      return kCommunication;
    case TimeKind::kHost:
    case TimeKind::kIdle:
      return kHost;
    default:
      break;
  }
  if (share.what == "attention") {
    return kAttention;
  }
  constexpr std::array<std::string_view, 3> kMadeOfGemms{"products", "experts", "convolutions"};
  for (const std::string_view name : kMadeOfGemms) {
    if (share.what == name) {
      return kGemms;
    }
  }
  // A bubble is the compute of others.
  return share.kind == TimeKind::kBubble ? kGemms : kMemory;
}

Sensitivity SensitivityOf(const Breakdown& breakdown) {
  Sensitivity sensitivity = {};
  for (const TimeShare& share : breakdown.shares) {
    sensitivity[PlaceOf(share)] +=
        static_cast<double>(share.ps) / static_cast<double>(breakdown.step_ps);
  }
  // The slowest of some hundred ranks is three deviations behind.
  sensitivity[kSpread] = 3 * workload::Population().mean.spread;
  return sensitivity;
}

double UnmeasuredShare(std::span<const workload::PriceCoverage> coverage) {
  double unmeasured = 0;
  double all = 0;
  for (const workload::PriceCoverage& of_gpu : coverage) {
    all += static_cast<double>(of_gpu.operators);
    unmeasured += static_cast<double>(std::max(of_gpu.by_other_gpus, of_gpu.by_roofline));
  }
  return all > 0 ? unmeasured / all : 0;
}

/// The variance of ln time that the spread of frameworks adds.
double VarianceOf(const Sensitivity& sensitivity) {
  double variance = 0;
  for (std::size_t i = 0; i < workload::kNumScalars; ++i) {
    const double deviation = sensitivity[i] * workload::Population().deviation[i];
    variance += deviation * deviation;
  }
  return variance;
}

}  // namespace

StepTraits TraitsOf(const Breakdown& breakdown, const workload::Job& job,
                    std::span<const workload::PriceCoverage> coverage) {
  const Sensitivity shares = SensitivityOf(breakdown);
  StepTraits traits{.bubble = static_cast<double>(breakdown.TotalPs(TimeKind::kBubble)) /
                              static_cast<double>(breakdown.step_ps),
                    .unmeasured = UnmeasuredShare(coverage),
                    .has_experts = workload::HasExperts(job.model),
                    .spans_islands = job.gpus > job.cluster.island.gpus,
                    .is_fitted = job.framework.is_fitted};
  std::copy_n(shares.begin(), traits.shares.size(), traits.shares.begin());
  const Baselines baselines = BaselinesOf(job);
  traits.roofline_s = baselines.roofline_s;
  traits.utilisation = baselines.peak_flops > 0
                           ? baselines.model_flops / baselines.peak_flops /
                                 (static_cast<double>(breakdown.step_ps) / kPicoseconds)
                           : 0;
  return traits;
}

learn::TimeInterval IntervalOf(const Breakdown& breakdown, const workload::Job& job,
                               std::span<const workload::PriceCoverage> coverage) {
  return ShippedIntervals().Around(static_cast<double>(breakdown.step_ps) / kPicoseconds,
                                   TraitsOf(breakdown, job, coverage));
}

std::string WideIntervalSentence(const Breakdown& breakdown, const workload::Job& job,
                                 std::span<const workload::PriceCoverage> coverage) {
  return WideIntervalSentence(ShippedIntervals(), TraitsOf(breakdown, job, coverage));
}

learn::TimeInterval IntervalOfRatio(const Breakdown& first, const Breakdown& second,
                                    const workload::Job& /*job*/) {
  const double noise = workload::Population().noise;
  Sensitivity difference = SensitivityOf(second);
  const Sensitivity of_first = SensitivityOf(first);
  for (std::size_t i = 0; i < difference.size(); ++i) {
    difference[i] -= of_first[i];
  }
  const double ratio = static_cast<double>(second.step_ps) / static_cast<double>(first.step_ps);
  return learn::IntervalAround(ratio, std::sqrt(2 * noise * noise + VarianceOf(difference)));
}

}  // namespace orrery::simulate
