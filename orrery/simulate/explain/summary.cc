#include "orrery/simulate/explain/summary.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/concurrency/parallel.h"
#include "orrery/kernel/data_type.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/explain/breakdown.h"
#include "orrery/simulate/explain/memory_timeline.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/flops.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::simulate {
namespace {

using workload::Job;
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
  return workload::ExecutedFlops(*model, BatchOf(job),
                                 {.recompute = job.plan.recompute,
                                  .recomputed_share = RecomputedShare(job, *model),
                                  .parts = job.plan.recompute_parts,
                                  .skips_masked = false,
                                  .rebuilds_scores = false,
                                  .trained = job.training.trained()});
}

bool HasWindows(const workload::Transformer& model) {
  return std::ranges::any_of(
      model.blocks, [](const workload::BlockRun& run) { return run.block.self.window > 0; });
}

std::vector<StageSummary> StagesOf(const RankClasses& rank_classes,
                                   const std::vector<Breakdown>& breakdowns) {
  std::vector<StageSummary> stages;
  for (const Breakdown& breakdown : breakdowns) {
    const RankClass& slowest = rank_classes.classes[breakdown.rank_class];
    std::uint32_t ranks = 0;
    for (const RankClass& rank_class : rank_classes.classes) {
      ranks += rank_class.program == slowest.program ? rank_class.multiplicity : 0;
    }
    stages.push_back({.rank_class = breakdown.rank_class,
                      .rank = slowest.rank,
                      .ranks = ranks,
                      .memory = {},
                      .busy_ps = BusyPs(breakdown)});
  }
  return stages;
}

// Of the slowest class of each program.
std::vector<Breakdown> BreakdownsOf(const RankClasses& rank_classes, const Timeline& timeline,
                                    SummaryDetail detail) {
  const std::vector<RankClassId> slowest = SlowestOfPrograms(rank_classes, timeline);
  std::vector<Breakdown> breakdowns(slowest.size());
  ParallelFor(slowest.size(), 0, [&](std::size_t i) {
    breakdowns[i] = detail == SummaryDetail::kAll
                        ? BreakdownOf(rank_classes, timeline, slowest[i])
                        : Breakdown{.rank_class = slowest[i], .shares = {}};
  });
  return breakdowns;
}

// If several programs are of one stage, and no GPU tells them apart, a rank does.
void NameStages(std::uint32_t ranks, std::vector<StageSummary>& stages) {
  for (StageSummary& stage : stages) {
    if (!stage.stage) {
      stage.name = fmt::format("rank {}", stage.rank);
      stage.name += ranks == 1 ? "" : fmt::format(" of {}", ranks);
      continue;
    }
    const auto alike = std::ranges::count_if(stages, [&](const StageSummary& other) {
      return other.stage == stage.stage && other.gpu == stage.gpu;
    });
    stage.name = fmt::format("stage {}", *stage.stage);
    stage.name += alike > 1 ? fmt::format(", rank {}", stage.rank) : "";
  }
}

JobFigures FiguresOf(const workload::Job& job, std::int64_t step_ps) {
  JobFigures figures;
  const double step_s = static_cast<double>(step_ps) / kPicoseconds;
  const auto samples = static_cast<double>(job.training.global_batch);
  figures.samples_per_s = step_s > 0 ? samples / step_s : 0;
  if (job.model.transformer() != nullptr) {
    figures.tokens_per_s = figures.samples_per_s * static_cast<double>(job.training.sequence);
  }
  figures.model = ModelUtilisation(job, step_ps);
  figures.hardware = HardwareUtilisation(job, step_ps);
  return figures;
}

void AddMemory(const SimulatedStep& simulated, StepSummary& summary) {
  MemoryAnswer memory =
      MemoryAnswerOf(*simulated.rank_classes, *simulated.timeline, *simulated.job);
  summary.memory_size_bytes = memory.stages[memory.fullest].usable_bytes;
  for (std::size_t i = 0; i < summary.stages.size(); ++i) {
    summary.stages[i].memory = std::move(memory.stages[i]);
  }
}

// Programs of one stage come together.
void FinishStages(const SimulatedStep& simulated, StepSummary& summary) {
  if (summary.has_pipeline && simulated.rank_classes->ensemble->knows_stages) {
    const RankClasses& rank_classes = *simulated.rank_classes;
    for (StageSummary& stage : summary.stages) {
      stage.stage = rank_classes.ensemble->StageOf(rank_classes.classes[stage.rank_class].program);
    }
  }
  std::ranges::stable_sort(summary.stages, {}, &StageSummary::stage);
  NameStages(summary.ranks, summary.stages);
}

}  // namespace

DelayTotals DelayTotalsOf(const Timeline& timeline, RankClassId rank_class) {
  DelayTotals totals;
  const std::size_t first = timeline.offsets[rank_class];
  auto task = std::ranges::lower_bound(timeline.delayed, first, {}, &DelayedTask::index);
  for (; task != timeline.delayed.end() && task->index < timeline.offsets[rank_class + 1]; ++task) {
    const std::int64_t end_ps = timeline.end_ps[task->index];
    totals.delayed_ps += task->delayed_ps;
    if (timeline.transfer_ps[task->index] != kNeverPs) {
      ++totals.transfers;
      totals.transfers_alone_ps += task->alone_ps;
      totals.transfers_ps += end_ps - timeline.transfer_ps[task->index];
    } else {
      ++totals.kernels;
      totals.kernels_alone_ps += task->alone_ps;
      totals.kernels_ps += end_ps - timeline.begin_ps[task->index] - task->delayed_ps;
    }
  }
  return totals;
}

Utilisation ModelUtilisation(const Job& job, std::int64_t step_ps) {
  const bool is_transformer = job.model.transformer() != nullptr;
  std::string counted = is_transformer
                            ? "GEMMs of one forward and one backward pass, causal mask not "
                              "discounted, no recomputation (Korthikanti et al., equation 7)"
                            : "GEMMs and convolutions of one forward and one backward pass";
  if (is_transformer && HasWindows(*job.model.transformer())) {
    counted += ", of sliding windows their width";
  }
  if (job.training.adapter_rank > 0) {
    counted += ", no gradients of frozen weights";
  }
  if (job.training.frozen_blocks > 0) {
    counted += ", frozen blocks forward only";
  }
  return UtilisationOf(
      job, step_ps, workload::ModelFlops(job.model, BatchOf(job), job.training.trained()), counted);
}

Utilisation HardwareUtilisation(const Job& job, std::int64_t step_ps) {
  const bool is_transformer = job.model.transformer() != nullptr;
  return UtilisationOf(job, step_ps, ExecutedFlopsOf(job),
                       is_transformer ? "the GEMMs of MFU, MoE routers and recomputation"
                                      : "GEMMs and convolutions that kernels execute");
}

std::string StageSummary::Label() const {
  return gpu.empty() ? name : fmt::format("{}, {}", name, gpu);
}

std::string StageSummary::ShortLabel() const {
  const std::string called = stage ? name : fmt::format("rank {}", rank);
  return gpu.empty() ? called : fmt::format("{}, {}", called, gpu);
}

const StageSummary* StepSummary::Fullest() const {
  const auto fullest = std::ranges::min_element(
      stages, {}, [](const StageSummary& stage) { return stage.memory.free_bytes(); });
  return fullest == stages.end() || fullest->memory.needed_bytes == 0 ? nullptr : &*fullest;
}

bool StepSummary::IsOutOfMemory() const {
  const StageSummary* const fullest = Fullest();
  return fullest != nullptr && memory_size_bytes &&
         fullest->memory.needed_bytes > *memory_size_bytes;
}

bool StepSummary::IsNearlyOutOfMemory() const {
  const StageSummary* const fullest = Fullest();
  return fullest != nullptr && memory_size_bytes && !is_memory_recorded && !IsOutOfMemory() &&
         static_cast<double>(fullest->memory.needed_bytes) >
             kSafeMemoryShare * static_cast<double>(*memory_size_bytes);
}

StepSummary Summarize(const SimulatedStep& simulated, SummaryDetail detail) {
  const RankClasses& rank_classes = *simulated.rank_classes;
  const Timeline& timeline = *simulated.timeline;
  StepSummary summary;
  summary.step_ps = timeline.EndPs();
  summary.events = timeline.num_events;
  summary.ranks = static_cast<std::uint32_t>(rank_classes.class_of_rank.size());
  summary.rank_classes = static_cast<std::uint32_t>(rank_classes.classes.size());
  std::vector<Breakdown> breakdowns = BreakdownsOf(rank_classes, timeline, detail);
  summary.stages = StagesOf(rank_classes, breakdowns);
  summary.breakdown = std::move(*std::ranges::max_element(breakdowns, {}, BusyPs));
  summary.slowest_rank = rank_classes.classes[summary.breakdown.rank_class].rank;
  if (detail == SummaryDetail::kAll) {
    summary.dimensions = DimensionTotals(rank_classes, timeline, summary.breakdown);
    summary.delayed = DelayTotalsOf(timeline, summary.breakdown.rank_class);
  }
  summary.has_pipeline = HasPipeline(rank_classes);
  if (simulated.job != nullptr) {
    AddMemory(simulated, summary);
    for (StageSummary& stage : summary.stages) {
      const bool differ = !simulated.job->other_gpus.empty();
      stage.gpu = differ ? workload::GpuOfRank(*simulated.job, stage.rank).name : "";
    }
    summary.figures = FiguresOf(*simulated.job, summary.step_ps);
  }
  FinishStages(simulated, summary);
  return summary;
}

void SetMemory(const RankClasses& rank_classes, std::span<const StageMemory> memory_of_program,
               StepSummary& summary) {
  summary.is_memory_recorded = true;
  for (StageSummary& stage : summary.stages) {
    stage.memory = memory_of_program[rank_classes.classes[stage.rank_class].program];
  }
  if (const StageSummary* const fullest = summary.Fullest()) {
    summary.memory_size_bytes = fullest->memory.usable_bytes;
  }
}

std::optional<BindingStage> BindingStageOf(const StepSummary& summary) {
  std::map<std::uint32_t, const StageSummary*> slowest_of_stage;
  for (const StageSummary& stage : summary.stages) {
    if (!stage.stage) {
      return std::nullopt;
    }
    const StageSummary*& slowest = slowest_of_stage[*stage.stage];
    if (slowest == nullptr || stage.busy_ps > slowest->busy_ps) {
      slowest = &stage;
    }
  }
  if (slowest_of_stage.size() < 2) {
    return std::nullopt;
  }
  const StageSummary* binding = slowest_of_stage.begin()->second;
  std::int64_t all_ps = 0;
  for (const auto& [number, stage] : slowest_of_stage) {
    all_ps += stage->busy_ps;
    binding = stage->busy_ps > binding->busy_ps ? stage : binding;
  }
  const auto stages = static_cast<std::int64_t>(slowest_of_stage.size());
  return BindingStage{.label = binding->Label(),
                      .busy_ps = binding->busy_ps,
                      .others_ps = (all_ps - binding->busy_ps) / (stages - 1),
                      .excess_ps = binding->busy_ps - all_ps / stages};
}

}  // namespace orrery::simulate
