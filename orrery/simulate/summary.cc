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
std::vector<StageSummary> StagesOf(const Cast& cast) {
  std::vector<StageSummary> stages;
  for (workload::ProgramId program = 0; program < cast.programs.size(); ++program) {
    std::optional<PlayerId> chosen;
    std::uint32_t ranks = 0;
    for (PlayerId player = 0; player < cast.players.size(); ++player) {
      if (cast.players[player].program != program) {
        continue;
      }
      ranks += cast.players[player].multiplicity;
      if (!chosen || cast.players[player].slowness > cast.players[*chosen].slowness) {
        chosen = player;
      }
    }
    if (chosen) {
      stages.push_back(
          {.player = *chosen, .rank = cast.players[*chosen].rank, .ranks = ranks, .memory = {}});
    }
  }
  return stages;
}

void NumberStages(const Cast& cast, std::vector<StageSummary>& stages) {
  for (StageSummary& stage : stages) {
    stage.stage = cast.ensemble->StageOf(cast.players[stage.player].program);
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

void AddBusyTimes(const PlayedStep& played, std::vector<StageSummary>& stages) {
  ParallelFor(stages.size(), 0, [&](std::size_t i) {
    stages[i].busy_ps =
        BusyPs(BreakdownOf(*played.cast, *played.performance, {.player = stages[i].player}));
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

void AddMemory(const PlayedStep& played, StepSummary& summary) {
  MemoryAnswer memory = MemoryAnswerOf(*played.cast, *played.performance, *played.job);
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
void FinishStages(const PlayedStep& played, StepSummary& summary) {
  if (summary.has_pipeline && played.cast->ensemble->knows_stages) {
    NumberStages(*played.cast, summary.stages);
    AddBusyTimes(played, summary.stages);
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

StepSummary Summarize(const PlayedStep& played) {
  const Cast& cast = *played.cast;
  const Performance& performance = *played.performance;
  StepSummary summary;
  summary.step_ps = performance.EndPs();
  summary.events = performance.num_events;
  summary.ranks = static_cast<std::uint32_t>(cast.player_of_rank.size());
  summary.rank_classes = static_cast<std::uint32_t>(cast.players.size());
  summary.breakdown = BreakdownOf(cast, performance);
  summary.slowest_rank = cast.players[summary.breakdown.player].rank;
  summary.dimensions = DimensionTotals(cast, performance, summary.breakdown);
  summary.held_up = HeldUpTotalsOf(performance, summary.breakdown.player);
  summary.stages = StagesOf(cast);
  summary.has_pipeline = HasPipeline(cast);
  if (played.job != nullptr) {
    AddMemory(played, summary);
    NameGpus(*played.job, summary.stages);
    summary.figures = FiguresOf(*played.job, summary.step_ps);
  }
  FinishStages(played, summary);
  return summary;
}

void SetMemory(const Cast& cast, std::span<const StageMemory> memory_of_program,
               StepSummary& summary) {
  summary.is_memory_recorded = true;
  for (StageSummary& stage : summary.stages) {
    stage.memory = memory_of_program[cast.players[stage.player].program];
  }
  if (const StageSummary* const fullest = summary.Fullest()) {
    summary.memory_size_bytes = fullest->memory.usable_bytes;
  }
}

}  // namespace orrery::simulate
