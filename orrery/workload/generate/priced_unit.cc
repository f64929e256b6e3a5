#include "orrery/workload/generate/priced_unit.h"

#include <algorithm>
#include <cmath>

#include "orrery/kernel/work.h"
#include "orrery/workload/job/attention_kernels.h"

namespace orrery::workload {
namespace {

constexpr double kPicoseconds = 1e12;
constexpr double kMillion = 1e6;
constexpr std::int64_t kFewColumns = 32;

bool IsNarrow(kernel::DataType type) {
  return kernel::ElementBytes(type) < 2;
}

// What a framework's kernels reach of what kernels reach alone.
double RateOf(Category category, const Job& job) {
  const Framework& framework = job.framework;
  switch (category) {
    case Category::kProduct:
    case Category::kExperts:
    case Category::kConvolution:
      return framework.product_rate;
    case Category::kAttention:
      return framework.attention_rate *
             AttentionKernelRate(framework.attention, job.gpu.generation);
    default:
      return framework.memory_rate;
  }
}

// Acklam's rational approximation of the normal quantile, good to 1e-9 where it is used (p > 0.5).
double NormalQuantile(double p) {
  constexpr double kA[] = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                           1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr double kB[] = {-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02,
                           6.680131188771972e+01, -1.328068155288572e+01};
  constexpr double kC[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                           -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  constexpr double kD[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                           3.754408661907416e+00};
  constexpr double kTail = 0.97575;
  if (p > kTail) {
    const double q = std::sqrt(-2 * std::log(1 - p));
    return -(((((kC[0] * q + kC[1]) * q + kC[2]) * q + kC[3]) * q + kC[4]) * q + kC[5]) /
           ((((kD[0] * q + kD[1]) * q + kD[2]) * q + kD[3]) * q + 1);
  }
  const double q = p - 0.5;
  const double r = q * q;
  return (((((kA[0] * r + kA[1]) * r + kA[2]) * r + kA[3]) * r + kA[4]) * r + kA[5]) * q /
         (((((kB[0] * r + kB[1]) * r + kB[2]) * r + kB[3]) * r + kB[4]) * r + 1);
}

}  // namespace

double ExpectedLargest(int ranks) {
  return ranks < 2 ? 0.0 : NormalQuantile((ranks - 0.375) / (ranks + 0.25));
}

PricedStep StepPricing::PriceOf(const Step& step, const kernel::Estimate& estimate) {
  PricedStep priced;
  priced.name = step.name;
  priced.category = step.category;
  priced.is_for_weights = step.is_for_weights;
  priced.launches = step.launches;
  priced.exchange = step.exchange;
  if (!step.op) {
    return priced;
  }
  const Framework& framework = job_.framework;
  const double seconds = estimate.seconds / RateOf(step.category, job_) *
                         (1 + framework.spread * ExpectedLargest(job_.gpus));
  priced.duration_ps = std::llround(seconds * kPicoseconds);
  const double bandwidth = job_.gpu.memory.bytes_per_second;
  if (seconds > 0 && bandwidth > 0) {
    const double share = kernel::WorkOf(*step.op).Bytes() / seconds / bandwidth;
    priced.memory_share = static_cast<std::uint32_t>(std::min(share, 1.0) * kMillion);
  }
  return priced;
}

std::vector<kernel::Estimate> StepPricing::EstimatesOf(std::span<const Step> steps) const {
  std::vector<kernel::Operator> operators;
  for (const Step& step : steps) {
    if (step.op) {
      operators.push_back(*step.op);
    }
  }
  std::vector<kernel::Estimate> estimates(operators.size());
  costs_.Predict(operators, job_.gpu, estimates);
  for (std::size_t i = 0; i < operators.size(); ++i) {
    if (operators[i].kind() == kernel::OperatorKind::kGemm && IsNarrow(operators[i].type())) {
      estimates[i].seconds =
          std::max(estimates[i].roofline_seconds, estimates[i].seconds - HiddenCast(operators[i]));
    }
  }
  return estimates;
}

// Tables of serving frameworks time a linear layer: a product in eight bits holds the cast of its
// input, which here is a step of its own. What it takes shows where nothing else is to be done:
// with few columns, beside the same product in sixteen bits.
double StepPricing::HiddenCast(const kernel::Operator& product) const {
  kernel::Operator slim = product;
  slim.Set(kernel::Key::kN, kFewColumns);
  const double narrow = costs_.Predict(slim, job_.gpu).seconds;
  const double wide = costs_.Predict(slim.WithType(kernel::DataType::kBf16), job_.gpu).seconds;
  return std::max(0.0, narrow - wide);
}

std::vector<PricedStep> StepPricing::Price(std::span<const Step> steps) {
  const std::vector<kernel::Estimate> estimates = EstimatesOf(steps);
  std::vector<PricedStep> priced;
  priced.reserve(steps.size());
  std::size_t next = 0;
  for (const Step& step : steps) {
    const kernel::Estimate estimate = step.op ? estimates[next++] : kernel::Estimate{};
    priced.push_back(PriceOf(step, estimate));
    if (step.op) {
      ++coverage_.operators;
      coverage_.extrapolated += estimate.is_extrapolated ? 1 : 0;
      coverage_.by_other_gpus +=
          estimate.rung == kernel::Rung::kSibling || estimate.rung == kernel::Rung::kAllGpus ? 1
                                                                                             : 0;
      coverage_.by_roofline += estimate.rung == kernel::Rung::kRoofline ? 1 : 0;
    }
  }
  return priced;
}

std::vector<PricedUnit> StepPricing::Price(std::span<const UnitSteps> units) {
  std::vector<PricedUnit> priced;
  priced.reserve(units.size());
  for (const UnitSteps& unit : units) {
    priced.push_back({Price(unit.forward), Price(unit.recompute), Price(unit.backward)});
  }
  return priced;
}

}  // namespace orrery::workload
