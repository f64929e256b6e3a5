#include "orrery/workload/generate/unit_pricing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "orrery/base/check.h"
#include "orrery/base/data_type.h"
#include "orrery/base/document/yaml_fields.h"
#include "orrery/base/error.h"
#include "orrery/base/math/normal_distribution.h"
#include "orrery/kernel/estimate.h"
#include "orrery/kernel/operator.h"
#include "orrery/kernel/power.h"
#include "orrery/kernel/work.h"
#include "orrery/workload/embedded_attention_kernels.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/generate/model_units.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"

namespace orrery::workload {
namespace {

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

// The speed of an attention kernel relative to the best one on a generation of GPUs
// (data/workload/attention_kernels.yaml); 1 without an entry.
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

// The speed of a framework's kernels relative to kernels measured alone.
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

kernel::KernelLoad LoadOf(const LayerOp& op) {
  return {.seconds = static_cast<double>(op.cost.duration_ps) / op.repeats / kPicoseconds,
          .tensor_share = kernel::UsesTensorCores(*op.op) ? op.cost.compute_share / kMillion : 0,
          .memory_share = op.cost.memory_share / kMillion,
          .is_narrow = ElementBytes(op.op->type()) < 2};
}

}  // namespace

OpCost OpPricing::CostOf(const LayerOp& op, const kernel::Estimate& estimate) const {
  const double kernel_seconds =
      estimate.seconds / RateOf(op.category, job_) *
      (1 + job_.framework.spread * ExpectedMaximum(static_cast<std::uint32_t>(job_.gpus)));
  OpCost cost{.duration_ps = std::llround(kernel_seconds * op.repeats * kPicoseconds),
              .operation = static_cast<std::uint8_t>(op.op->kind())};
  if (kernel_seconds <= 0) {
    return cost;
  }
  const kernel::Work work = kernel::WorkOf(*op.op);
  const double bandwidth = job_.gpu.memory.bytes_per_second;
  cost.memory_share = bandwidth > 0 ? Millionths(work.Bytes() / kernel_seconds / bandwidth) : 0;
  cost.compute_share =
      Millionths(kernel::BoundOf(*op.op, work, job_.gpu).compute_seconds / kernel_seconds);
  return cost;
}

std::vector<kernel::Estimate> OpPricing::EstimatesOf(std::span<const LayerOp> ops) const {
  std::vector<kernel::Operator> operators;
  for (const LayerOp& op : ops) {
    if (op.op) {
      operators.push_back(*op.op);
    }
  }
  std::vector<kernel::Estimate> estimates(operators.size());
  costs_.Predict(operators, job_.gpu, estimates);
  for (std::size_t i = 0; i < operators.size(); ++i) {
    if (operators[i].kind() == kernel::OperatorKind::kGemm &&
        ElementBytes(operators[i].type()) < 2) {
      estimates[i].seconds =
          std::max(estimates[i].roofline_seconds, estimates[i].seconds - HiddenCast(operators[i]));
    }
  }
  return estimates;
}

// Tables of serving frameworks time a linear layer: an fp8 GEMM includes the cast of its input,
// which is an operator of its own here. The cast's time shows where the GEMM has little work: with
// few columns, compared with the same GEMM in bf16.
double OpPricing::HiddenCast(const kernel::Operator& gemm) const {
  kernel::Operator slim = gemm;
  slim.Set(kernel::Key::kN, kFewColumns);
  const double narrow = costs_.Predict(slim, job_.gpu).seconds;
  const double wide = costs_.Predict(slim.WithType(DataType::kBf16), job_.gpu).seconds;
  return std::max(0.0, narrow - wide);
}

void OpPricing::Count(const kernel::Estimate& estimate) {
  using kernel::EstimateSource;
  ++coverage_.operators;
  coverage_.extrapolated += estimate.is_extrapolated ? 1 : 0;
  const bool is_by_others =
      estimate.source == EstimateSource::kSibling || estimate.source == EstimateSource::kAllGpus;
  coverage_.by_other_gpus += is_by_others ? 1 : 0;
  coverage_.by_roofline += estimate.source == EstimateSource::kRoofline ? 1 : 0;
  if (estimate.alignment_gpu != nullptr) {
    ++coverage_.unaligned;
    coverage_.alignment_gpu = estimate.alignment_gpu->name;
  }
  if (estimate.library_factor > 1) {
    ++coverage_.searched;
    coverage_.library_factor = std::max(coverage_.library_factor, estimate.library_factor);
  }
}

void OpPricing::Price(std::span<LayerOp> ops) {
  const std::vector<kernel::Estimate> estimates = EstimatesOf(ops);
  std::size_t next = 0;
  for (LayerOp& op : ops) {
    if (op.op) {
      const kernel::Estimate& estimate = estimates[next++];
      op.cost = CostOf(op, estimate);
      Count(estimate);
    }
  }
}

std::vector<UnitCount> CountUnits(const ModelUnits& units, std::span<const ProgramId> stages) {
  std::map<std::pair<std::size_t, bool>, std::int64_t> count_of_kind;
  for (const ProgramId stage : stages) {
    for (const std::vector<StageUnit>& chunk : units.stages[stage]) {
      for (const StageUnit& unit : chunk) {
        ++count_of_kind[{unit.kind, unit.recomputes}];
      }
    }
  }
  std::vector<UnitCount> counts;
  for (const auto& [kind, count] : count_of_kind) {
    counts.push_back({.kind = kind.first, .recomputes = kind.second, .units = count});
  }
  return counts;
}

UnitPricing::UnitPricing(const Job& job, const kernel::CostModel& costs, std::vector<UnitOps> kinds,
                         std::span<const UnitCount> counts)
    : is_throttled_(job.mechanisms.power),
      pricing_(job, costs),
      clock_(job.gpu),
      kinds_(std::move(kinds)) {
  for (UnitOps& unit : kinds_) {
    pricing_.Price(unit.forward);
    pricing_.Price(unit.recompute);
    pricing_.Price(unit.backward);
  }
  for (const UnitCount& count : counts) {
    const UnitOps& ops = kinds_[count.kind];
    CountLoads(ops.forward, count.units);
    CountLoads(count.recomputes ? ops.forward : ops.recompute, count.units);
    CountLoads(ops.backward, count.units);
  }
  state_ = clock_.Of(loads_);
  for (UnitOps& unit : kinds_) {
    Throttle(unit.forward);
    Throttle(unit.recompute);
    Throttle(unit.backward);
  }
}

void UnitPricing::Price(std::span<LayerOp> ops) {
  pricing_.Price(ops);
  Throttle(ops);
}

void UnitPricing::CountLoads(std::span<const LayerOp> ops, std::int64_t units) {
  for (const LayerOp& op : ops) {
    if (op.op) {
      loads_.push_back({LoadOf(op), static_cast<double>(units * op.repeats)});
    }
  }
}

void UnitPricing::Throttle(std::span<LayerOp> ops) const {
  for (LayerOp& op : ops) {
    if (!op.op || !is_throttled_) {
      continue;
    }
    const double slowdown = clock_.Slowdown(LoadOf(op), state_.clock);
    op.cost.duration_ps = std::llround(static_cast<double>(op.cost.duration_ps) * slowdown);
    op.cost.memory_share = Millionths(op.cost.memory_share / kMillion / slowdown);
    op.cost.compute_share = Millionths(op.cost.compute_share / kMillion / slowdown);
  }
}

StepPower UnitPricing::PowerOf(double passes) const {
  double seconds = 0;
  for (const kernel::WeightedLoad& weighted : loads_) {
    seconds += weighted.count * weighted.load.seconds *
               (is_throttled_ ? clock_.Slowdown(weighted.load, state_.clock) : 1);
  }
  return {.clock = is_throttled_ ? state_.clock : 1,
          .busy_watts = state_.watts,
          .waiting_watts = clock_.power().idle_w + clock_.power().active_w,
          .busy_seconds = seconds * passes,
          .measured_on = is_throttled_ ? clock_.power().measured_on : ""};
}

}  // namespace orrery::workload
