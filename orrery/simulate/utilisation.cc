#include "orrery/simulate/utilisation.h"

#include <algorithm>

#include <fmt/core.h>

#include "orrery/kernel/data_type.h"
#include "orrery/workload/model/flops.h"

namespace orrery::simulate {
namespace {

using workload::AttentionKernel;
using workload::Job;
using workload::Recompute;
using workload::TokenBatch;

constexpr double kPicoseconds = 1e12;

TokenBatch BatchOf(const Job& job) {
  return {.sequence = job.training.sequence, .samples = job.training.global_batch};
}

// The dense peak of all GPUs for the type that products are computed in.
double PeakFlops(const Job& job) {
  double all = 0;
  for (const workload::GpuCount& count : workload::GpusOf(job)) {
    const auto peak = count.gpu->PeakFlops(kernel::PeakName(job.training.precision.gemm_type));
    if (!peak && count.ranks > 0) {
      return 0;
    }
    all += peak.value_or(0) * count.ranks;
  }
  return all;
}

Utilisation UtilisationOf(const Job& job, std::int64_t step_ps, double flops,
                          std::string_view counted) {
  Utilisation utilisation;
  utilisation.flops = flops;
  const double step_s = static_cast<double>(step_ps) / kPicoseconds;
  const double gpu_s = step_s * job.gpus;
  utilisation.flops_per_s_of_gpu = gpu_s > 0 ? flops / gpu_s : 0;
  const double possible = PeakFlops(job) * step_s;
  utilisation.share = possible > 0 ? flops / possible : 0;
  utilisation.definition = fmt::format("{}, over the dense {} peak of all GPUs", counted,
                                       kernel::PeakName(job.training.precision.gemm_type));
  return utilisation;
}

// Of the layers of a stage.
double RecomputedShare(const Job& job, const workload::Transformer& model) {
  if (job.plan.recompute_layers == 0) {
    return job.plan.recompute_share;
  }
  const double of_stage = static_cast<double>(model.num_blocks()) / std::max(job.plan.pp, 1);
  return std::min(1.0, job.plan.recompute_layers / std::max(of_stage, 1.0));
}

double ExecutedFlopsOf(const Job& job) {
  const workload::Transformer* const model = job.model.transformer();
  if (model == nullptr) {
    return workload::ModelFlops(job.model, BatchOf(job));
  }
  const bool is_flash = job.framework.attention != AttentionKernel::kMaterialised;
  return workload::ExecutedFlops(*model, BatchOf(job),
                                 {.recompute = job.plan.recompute,
                                  .recomputed_share = RecomputedShare(job, *model),
                                  .parts = job.plan.recompute_parts,
                                  .skips_masked = is_flash,
                                  .rebuilds_scores = is_flash});
}

}  // namespace

Utilisation ModelUtilisation(const Job& job, std::int64_t step_ps) {
  const bool is_transformer = job.model.transformer() != nullptr;
  return UtilisationOf(job, step_ps, workload::ModelFlops(job.model, BatchOf(job)),
                       is_transformer
                           ? "products of one forward and one backward pass, the whole square of "
                             "attention, nothing recomputed (Korthikanti et al., equation 7)"
                           : "products of one forward and one backward pass");
}

Utilisation HardwareUtilisation(const Job& job, std::int64_t step_ps) {
  const bool is_transformer = job.model.transformer() != nullptr;
  return UtilisationOf(job, step_ps, ExecutedFlopsOf(job),
                       is_transformer ? "products that kernels execute, with what is recomputed "
                                        "and without masked scores that they leave out"
                                      : "products that kernels execute");
}

}  // namespace orrery::simulate
