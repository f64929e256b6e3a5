#include "orrery/workload/generate/priced_unit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "orrery/base/check.h"
#include "orrery/base/normal_distribution.h"
#include "orrery/base/yaml_fields.h"
#include "orrery/kernel/bound.h"
#include "orrery/kernel/work.h"
#include "orrery/workload/embedded_attention_kernels.h"
#include "orrery/workload/job/framework.h"

namespace orrery::workload {
namespace {

using hardware::Spelling;

struct KernelRate {
  AttentionKernel kernel = AttentionKernel::kFlash;
  std::string generation;
  double rate = 1;
};

constexpr std::array<Spelling<AttentionKernel>, 2> kOlderKernels{{
    {"flash2", AttentionKernel::kFlash2},
    {"flash1", AttentionKernel::kFlash1},
}};

std::vector<KernelRate> ReadRates() {
  std::vector<KernelRate> rates;
  std::optional<Error> error;
  for (const YAML::Node& node : YAML::Load(kEmbeddedAttentionKernels)["attention_kernels"]) {
    YamlFields fields(node, "kernel of attention", error);
    KernelRate rate;
    rate.kernel =
        fields.Choice("kernel", std::span<const Spelling<AttentionKernel>>(kOlderKernels));
    rate.generation = fields.Text("generation");
    rate.rate = fields.Positive("rate");
    fields.RefuseOthers();
    rates.push_back(rate);
  }
  ORRERY_CHECK(!error, error ? error->message() : "");
  return rates;
}

// What a kernel of attention reaches of the best one on a generation of GPUs
// (data/workload/attention_kernels.yaml); 1 where the table says nothing.
double AttentionKernelRate(AttentionKernel kernel, std::string_view generation) {
  static const std::vector<KernelRate> rates = ReadRates();
  for (const KernelRate& rate : rates) {
    if (rate.kernel == kernel && rate.generation == generation) {
      return rate.rate;
    }
  }
  return 1;
}

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
    case Category::kGemm:
    case Category::kExperts:
    case Category::kConvolution:
      return framework.gemm_rate;
    case Category::kAttention:
      return framework.attention_rate *
             AttentionKernelRate(framework.attention, job.gpu.generation);
    default:
      return framework.memory_rate;
  }
}

std::uint32_t Millionths(double share) {
  return static_cast<std::uint32_t>(std::min(share, 1.0) * kMillion);
}

}  // namespace

PricedOp OpPricing::PriceOf(const LayerOp& step, const kernel::Estimate& estimate) {
  PricedOp priced;
  priced.name = step.name;
  priced.category = step.category;
  priced.is_wgrad = step.is_wgrad;
  priced.launches = step.launches;
  priced.communication = step.communication;
  if (!step.op) {
    return priced;
  }
  const Framework& framework = job_.framework;
  const double seconds =
      estimate.seconds / RateOf(step.category, job_) *
      (1 + framework.spread * ExpectedMaximum(static_cast<std::uint32_t>(job_.gpus)));
  priced.duration_ps = std::llround(seconds * kPicoseconds);
  priced.operation = static_cast<std::uint8_t>(step.op->kind());
  const kernel::Work work = kernel::WorkOf(*step.op);
  const double bandwidth = job_.gpu.memory.bytes_per_second;
  if (seconds > 0 && bandwidth > 0) {
    priced.memory_share = Millionths(work.Bytes() / seconds / bandwidth);
  }
  if (seconds > 0) {
    priced.compute_share =
        Millionths(kernel::BoundOf(*step.op, work, job_.gpu).compute_seconds / seconds);
  }
  return priced;
}

std::vector<kernel::Estimate> OpPricing::EstimatesOf(std::span<const LayerOp> steps) const {
  std::vector<kernel::Operator> operators;
  for (const LayerOp& step : steps) {
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
double OpPricing::HiddenCast(const kernel::Operator& product) const {
  kernel::Operator slim = product;
  slim.Set(kernel::Key::kN, kFewColumns);
  const double narrow = costs_.Predict(slim, job_.gpu).seconds;
  const double wide = costs_.Predict(slim.WithType(kernel::DataType::kBf16), job_.gpu).seconds;
  return std::max(0.0, narrow - wide);
}

std::vector<PricedOp> OpPricing::Price(std::span<const LayerOp> steps) {
  const std::vector<kernel::Estimate> estimates = EstimatesOf(steps);
  std::vector<PricedOp> priced;
  priced.reserve(steps.size());
  std::size_t next = 0;
  for (const LayerOp& step : steps) {
    const kernel::Estimate estimate = step.op ? estimates[next++] : kernel::Estimate{};
    priced.push_back(PriceOf(step, estimate));
    if (step.op) {
      ++coverage_.operators;
      coverage_.extrapolated += estimate.is_extrapolated ? 1 : 0;
      coverage_.by_other_gpus += estimate.source == kernel::EstimateSource::kSibling ||
                                         estimate.source == kernel::EstimateSource::kAllGpus
                                     ? 1
                                     : 0;
      coverage_.by_roofline += estimate.source == kernel::EstimateSource::kRoofline ? 1 : 0;
      if (estimate.alignment_gpu != nullptr) {
        ++coverage_.unaligned;
        coverage_.alignment_gpu = estimate.alignment_gpu->name;
      }
    }
  }
  return priced;
}

std::vector<PricedUnit> OpPricing::Price(std::span<const UnitOps> units) {
  std::vector<PricedUnit> priced;
  priced.reserve(units.size());
  for (const UnitOps& unit : units) {
    priced.push_back({Price(unit.forward), Price(unit.recompute), Price(unit.backward)});
  }
  return priced;
}

}  // namespace orrery::workload
