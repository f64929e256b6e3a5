#include "orrery/simulate/explain/baselines.h"

#include <algorithm>
#include <string_view>

#include "orrery/base/data_type.h"
#include "orrery/hardware/cluster.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/flops.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/parameters.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::simulate {
namespace {

using workload::Job;
using workload::Plan;
using workload::Recompute;
using workload::Sharding;
using workload::TokenBatch;
using workload::Transformer;

// The share of their datasheets that tensor cores, memory and links reach: one round number for
// all.
constexpr double kEfficiency = 0.8;
constexpr double kBytesOfActivation = 2;
constexpr double kBytesOfNf4 = 0.5;
constexpr double kBytesOfState = 16;    // parameter, gradient and two moments with a master copy
constexpr double kKeptPerElement = 34;  // bytes of a layer for each s·b·h, Korthikanti et al.
constexpr double kBackwardOfPass = 2.0 / 3;

double PeakOf(const Job& job) {
  const DataType type = job.training.precision.gemm_type;
  for (const std::string_view name :
       {type == DataType::kFp8Block ? std::string_view("fp8") : DataTypeName(type),
        std::string_view("bf16"), std::string_view("fp16"), std::string_view("fp32")}) {
    if (const auto peak = job.gpu.PeakFlops(name)) {
      return *peak;
    }
  }
  return 0;
}

/// The closed forms of one job, in seconds of one GPU.
class ClosedForms {
 public:
  ClosedForms(const Job& job, const Transformer& model)
      : job_(job),
        plan_(job.plan),
        model_(model),
        parameters_(static_cast<double>(workload::TotalParameters(job.model)) /
                    (plan_.tp * plan_.pp * plan_.ep)),
        frozen_share_(static_cast<double>(job.training.frozen_blocks) /
                      static_cast<double>(std::max<std::int64_t>(1, model.num_blocks()))),
        trained_(job.training.adapter_rank > 0 ? 0 : parameters_ * (1 - frozen_share_)) {}

  /// FLOPs that a GPU executes for one micro-batch.
  [[nodiscard]] double ExecutedOfPass() const {
    const TokenBatch batch = {job_.training.sequence, job_.training.micro_batch};
    return workload::ExecutedFlops(
               model_, batch, {.recompute = plan_.recompute, .trained = job_.training.trained()}) /
           (plan_.tp * plan_.pp * plan_.cp);
  }

  [[nodiscard]] double RooflineOfStep() const {
    const auto passes = static_cast<double>(job_.microbatches());
    // Weights are read forward and backward, and their gradients are written; frozen ones are read
    // once, in the format in which they are stored.
    const double accesses = 3 - 2 * frozen_share_;
    const bool is_narrow = job_.training.base_format == workload::BaseFormat::kNf4;
    const double bytes =
        passes * accesses * (is_narrow ? kBytesOfNf4 : kBytesOfActivation) * parameters_ +
        2 * OwnedStates();
    return std::max(passes * ExecutedOfPass() / PeakOf(job_),
                    bytes / job_.gpu.memory.bytes_per_second);
  }

  [[nodiscard]] double Step() const {
    const auto passes = static_cast<double>(job_.microbatches());
    const double pass =
        ExecutedOfPass() / (PeakOf(job_) * kEfficiency) + MemoryOfPass() + TensorOfPass();
    const double bubble = (plan_.pp - 1) * pass / plan_.chunks;
    const double optimizer = 2 * OwnedStates() / (job_.gpu.memory.bytes_per_second * kEfficiency);
    return passes * (pass + MessagesOfPass() + ShardsOfPass(pass)) + bubble + GradientsOf(pass) +
           optimizer;
  }

 private:
  // Elements of the activations of a layer's input on one GPU.
  [[nodiscard]] double Activations() const {
    return static_cast<double>(job_.training.sequence * job_.training.micro_batch) *
           static_cast<double>(model_.hidden) / plan_.cp;
  }

  [[nodiscard]] double Layers() const {
    return static_cast<double>(model_.num_blocks()) / plan_.pp;
  }

  // The bandwidth of a group of so many ranks, of which every `stride`-th GPU is a member: the
  // links of an island, or all NICs that its members on a node have.
  [[nodiscard]] double Rate(int ranks, int stride) const {
    const hardware::Cluster& cluster = job_.cluster;
    const double links = cluster.island.per_gpu.bytes_per_second;
    const double nic = cluster.nics.bandwidth.bytes_per_second * cluster.nics.per_node /
                       std::max(cluster.gpus_per_node, 1);
    if (ranks * stride <= cluster.island.gpus || nic == 0) {
      return links * kEfficiency;
    }
    const int members = std::clamp(cluster.gpus_per_node / stride, 1, ranks);
    return std::min(links, nic * members) * kEfficiency;
  }

  [[nodiscard]] double DataRate() const { return Rate(plan_.dp, plan_.tp * plan_.cp); }

  [[nodiscard]] static double Over(double seconds_of_bytes, double rate) {
    return rate > 0 ? seconds_of_bytes / rate : 0;
  }

  // Everything that a layer keeps is written and read once in each direction.
  [[nodiscard]] double MemoryOfPass() const {
    return 4 * kKeptPerElement * Activations() / plan_.tp * Layers() /
           (job_.gpu.memory.bytes_per_second * kEfficiency);
  }

  // Two sums forward, two backward, two more where all is recomputed.
  [[nodiscard]] double TensorOfPass() const {
    const double sums = plan_.recompute == Recompute::kFull ? 6 : 4;
    const double around = 2.0 * (plan_.tp - 1) / plan_.tp;
    return Over(sums * Layers() * around * kBytesOfActivation * Activations(), Rate(plan_.tp, 1));
  }

  [[nodiscard]] double MessagesOfPass() const {
    const double messages = plan_.pp > 1 ? 2.0 * plan_.chunks : 0;
    const int tensor = plan_.sequence_parallel ? plan_.tp : 1;
    return Over(messages * kBytesOfActivation * Activations() / tensor,
                Rate(plan_.pp, job_.gpus / plan_.pp));
  }

  [[nodiscard]] double OwnedStates() const {
    const bool is_sharded = plan_.sharding != Sharding::kReplicated;
    return kBytesOfState * trained_ / (is_sharded ? plan_.dp * plan_.cp : 1);
  }

  // Parameters are gathered twice and gradients scattered, beside the pass.
  [[nodiscard]] double ShardsOfPass(double pass) const {
    if (plan_.sharding != Sharding::kParameters) {
      return 0;
    }
    return std::max(0.0, Over(3 * kBytesOfActivation * parameters_, DataRate()) - pass);
  }

  // Beside the last backward pass.
  [[nodiscard]] double GradientsOf(double pass) const {
    if (plan_.sharding == Sharding::kParameters) {
      return 0;
    }
    const double around = 2.0 * (plan_.dp - 1) / plan_.dp;
    const double bytes = job_.training.precision.gradient_bytes * trained_;
    return std::max(0.0, Over(around * bytes, DataRate()) - kBackwardOfPass * pass);
  }

  const Job& job_;
  const Plan& plan_;
  const Transformer& model_;
  double
      parameters_;  // of one GPU, were nothing sharded; all count as experts where there are some
  double frozen_share_;
  double trained_;  // without adapters, which are few
};

}  // namespace

Baselines BaselinesOf(const Job& job) {
  const Transformer* const model = job.model.transformer();
  if (model == nullptr || PeakOf(job) <= 0) {
    return {};
  }
  const ClosedForms forms(job, *model);
  return {.model_flops = workload::ModelFlops(
              *model, TokenBatch{job.training.sequence, job.training.global_batch},
              job.training.trained()),
          .peak_flops = PeakOf(job) * job.gpus,
          .roofline_s = forms.RooflineOfStep(),
          .analytic_s = forms.Step()};
}

}  // namespace orrery::simulate
