#include "orrery/simulate/summary.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/core.h>

#include "orrery/base/parallel.h"
#include "orrery/simulate/stage_balance.h"

namespace orrery::simulate {
namespace {

constexpr double kPicoseconds = 1e12;

// The slowest rank of each program that has one; of several the lowest.
std::vector<StageSummary> StagesOf(const RankClasses& rank_classes) {
  std::vector<StageSummary> stages;
  for (workload::ProgramId program = 0; program < rank_classes.programs.size(); ++program) {
    std::optional<RankClassId> chosen;
    std::uint32_t ranks = 0;
    for (RankClassId rank_class = 0; rank_class < rank_classes.classes.size(); ++rank_class) {
      if (rank_classes.classes[rank_class].program != program) {
        continue;
      }
      ranks += rank_classes.classes[rank_class].multiplicity;
      if (!chosen || rank_classes.classes[rank_class].slowness > rank_classes.classes[*chosen].slowness) {
        chosen = rank_class;
      }
    }
    if (chosen) {
      stages.push_back(
          {.rank_class = *chosen, .rank = rank_classes.classes[*chosen].rank, .ranks = ranks, .memory = {}});
    }
  }
  return stages;
}

void NumberStages(const RankClasses& rank_classes, std::vector<StageSummary>& stages) {
  for (StageSummary& stage : stages) {
    stage.stage = rank_classes.ensemble->StageOf(rank_classes.classes[stage.rank_class].program);
  }
}

std::string RankName(workload::Rank rank, std::uint32_t ranks) {
  return ranks == 1 ? fmt::format("rank {}", rank) : fmt::format("rank {} of {}", rank, ranks);
}

// Where several programs are of one stage, and no GPU tells them apart, a rank does.
void NameStages(std::uint32_t ranks, std::vector<StageSummary>& stages) {
  for (StageSummary& stage : stages) {
    if (!stage.stage) {
      stage.name = RankName(stage.rank, ranks);
      continue;
    }
    const auto alike = std::ranges::count_if(stages, [&](const StageSummary& other) {
      return other.stage == stage.stage && other.gpu == stage.gpu;
    });
    stage.name = fmt::format("stage {}", *stage.stage);
    stage.name += alike > 1 ? fmt::format(", rank {}", stage.rank) : "";
  }
}

void AddBusyTimes(const SimulatedStep& simulated, std::vector<StageSummary>& stages) {
  ParallelFor(stages.size(), 0, [&](std::size_t i) {
    stages[i].busy_ps =
        BusyPs(BreakdownOf(*simulated.rank_classes, *simulated.timeline, {.rank_class = stages[i].rank_class}));
  });
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
  MemoryAnswer memory = MemoryAnswerOf(*simulated.rank_classes, *simulated.timeline, *simulated.job);
  summary.memory_size_bytes = memory.stages[memory.fullest].usable_bytes;
  for (std::size_t i = 0; i < summary.stages.size(); ++i) {
    summary.stages[i].memory = std::move(memory.stages[i]);
  }
}

void NameGpus(const workload::Job& job, std::vector<StageSummary>& stages) {
  for (StageSummary& stage : stages) {
    stage.gpu = job.other_gpus.empty() ? "" : workload::GpuOfRank(job, stage.rank).name;
  }
}

// Programs of one stage come together.
void FinishStages(const SimulatedStep& simulated, StepSummary& summary) {
  if (summary.has_pipeline && simulated.rank_classes->ensemble->knows_stages) {
    NumberStages(*simulated.rank_classes, summary.stages);
    AddBusyTimes(simulated, summary.stages);
  }
  std::ranges::stable_sort(summary.stages, {}, &StageSummary::stage);
  NameStages(summary.ranks, summary.stages);
}

}  // namespace

std::string StageSummary::Label() const {
  return gpu.empty() ? name : fmt::format("{}, {}", name, gpu);
}

std::string StageSummary::ShortLabel() const {
  const std::string called = stage ? name : fmt::format("rank {}", rank);
  return gpu.empty() ? called : fmt::format("{}, {}", called, gpu);
}

const StageSummary* StepSummary::Fullest() const {
  const auto fullest = std::min_element(stages.begin(), stages.end(),
                                        [](const StageSummary& lhs, const StageSummary& rhs) {
                                          return lhs.memory.free_bytes() < rhs.memory.free_bytes();
                                        });
  return fullest == stages.end() || fullest->memory.needed_bytes == 0 ? nullptr : &*fullest;
}

bool StepSummary::IsOutOfMemory() const {
  const StageSummary* const fullest = Fullest();
  return fullest != nullptr && memory_size_bytes &&
         fullest->memory.needed_bytes > *memory_size_bytes;
}

StepSummary Summarize(const SimulatedStep& simulated) {
  const RankClasses& rank_classes = *simulated.rank_classes;
  const Timeline& timeline = *simulated.timeline;
  StepSummary summary;
  summary.step_ps = timeline.EndPs();
  summary.events = timeline.num_events;
  summary.ranks = static_cast<std::uint32_t>(rank_classes.class_of_rank.size());
  summary.rank_classes = static_cast<std::uint32_t>(rank_classes.classes.size());
  summary.breakdown = BreakdownOf(rank_classes, timeline);
  summary.slowest_rank = rank_classes.classes[summary.breakdown.rank_class].rank;
  summary.dimensions = DimensionTotals(rank_classes, timeline, summary.breakdown);
  summary.delayed = DelayTotalsOf(timeline, summary.breakdown.rank_class);
  summary.stages = StagesOf(rank_classes);
  summary.has_pipeline = HasPipeline(rank_classes);
  if (simulated.job != nullptr) {
    AddMemory(simulated, summary);
    NameGpus(*simulated.job, summary.stages);
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

}  // namespace orrery::simulate
