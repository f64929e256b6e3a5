#include "orrery/simulate/interval.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "orrery/learn/interval.h"
#include "orrery/simulate/breakdown.h"
#include "orrery/workload/generate/generate.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"

namespace orrery::simulate {
namespace {

constexpr double kPicoseconds = 1e12;
/// Of kernels whose time is that of other GPUs, or of other sizes (docs/validation/kernels.md,
/// unseen GPUs).
constexpr double kUnmeasuredDeviation = 0.15;
/// Of the population's spread that is left where a framework has rows: teams that share one differ
/// (eight of them run NeMo).
constexpr double kKnownShare = 0.67;
/// Of host times, whatever the framework: hosts that issued the same step took 61 to 93 ms
/// (docs/validation/strangers.md), and those of another generation differ by more.
constexpr double kHostDeviation = 0.4;

/// Shares of the step that follow each fitted scalar, in their order.
using Sensitivity = std::array<double, workload::kNumScalars>;

enum Place : std::uint8_t { kGemms, kAttention, kMemory, kCommunication, kLaunches, kSpread };

Place PlaceOf(const TimeShare& share) {
  switch (share.kind) {
    case TimeKind::kTransfer:
    case TimeKind::kWait:
      return kCommunication;
    case TimeKind::kHost:
    case TimeKind::kIdle:
      return kLaunches;
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
    unmeasured += static_cast<double>(
        std::max({of_gpu.by_other_gpus, of_gpu.extrapolated, of_gpu.by_roofline}));
  }
  return all > 0 ? unmeasured / all : 0;
}

/// What the spread of frameworks adds to the variance of ln time.
double VarianceOf(const Sensitivity& sensitivity, const workload::Job& job) {
  const double known = job.framework.is_fitted ? kKnownShare : 1;
  double variance = 0;
  for (std::size_t i = 0; i < workload::kNumScalars; ++i) {
    const double of_framework = known * workload::Population().deviation[i];
    const double deviation =
        sensitivity[i] * (i == kLaunches ? std::hypot(of_framework, kHostDeviation) : of_framework);
    variance += deviation * deviation;
  }
  return variance;
}

}  // namespace

learn::TimeInterval IntervalOf(const Breakdown& breakdown, const workload::Job& job,
                               std::span<const workload::PriceCoverage> coverage) {
  const workload::ScalarPopulation& population = workload::Population();
  const Sensitivity sensitivity = SensitivityOf(breakdown);
  double variance = population.noise * population.noise + VarianceOf(sensitivity, job);
  const double compute = sensitivity[kGemms] + sensitivity[kAttention] + sensitivity[kMemory];
  const double unmeasured = compute * UnmeasuredShare(coverage) * kUnmeasuredDeviation;
  variance += unmeasured * unmeasured;
  return learn::IntervalAround(static_cast<double>(breakdown.step_ps) / kPicoseconds,
                               std::sqrt(variance));
}

learn::TimeInterval IntervalOfRatio(const Breakdown& first, const Breakdown& second,
                                    const workload::Job& job) {
  const double noise = workload::Population().noise;
  Sensitivity difference = SensitivityOf(second);
  const Sensitivity of_first = SensitivityOf(first);
  for (std::size_t i = 0; i < difference.size(); ++i) {
    difference[i] -= of_first[i];
  }
  const double ratio = static_cast<double>(second.step_ps) / static_cast<double>(first.step_ps);
  return learn::IntervalAround(ratio, std::sqrt(2 * noise * noise + VarianceOf(difference, job)));
}

}  // namespace orrery::simulate
