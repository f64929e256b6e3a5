#include "orrery/simulate/summary.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/core.h>

namespace orrery::simulate {
namespace {

constexpr double kPicoseconds = 1e12;

// The slowest rank of each program that has one; of several the lowest.
std::vector<StageSummary> StagesOf(const Cast& cast) {
  std::vector<StageSummary> stages;
  for (workload::ProgramId program = 0; program < cast.programs.size(); ++program) {
    std::optional<PlayerId> chosen;
    for (PlayerId player = 0; player < cast.players.size(); ++player) {
      if (cast.players[player].program == program &&
          (!chosen || cast.players[player].slowness > cast.players[*chosen].slowness)) {
        chosen = player;
      }
    }
    if (chosen) {
      stages.push_back({.stage = cast.ensemble->StageOf(program),
                        .player = *chosen,
                        .rank = cast.players[*chosen].rank,
                        .memory = {}});
    }
  }
  return stages;
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

// Programs of one stage that differ by their GPUs come together.
void AddMemory(const PlayedStep& played, StepSummary& summary) {
  MemoryAnswer memory = MemoryAnswerOf(*played.cast, *played.performance, *played.job);
  summary.memory_size_bytes = memory.stages[memory.fullest].usable_bytes;
  for (std::size_t i = 0; i < summary.stages.size(); ++i) {
    StageSummary& stage = summary.stages[i];
    stage.memory = std::move(memory.stages[i]);
    if (!played.job->other_gpus.empty()) {
      stage.gpu = workload::GpuOfRank(*played.job, stage.rank).name;
    }
  }
  std::ranges::stable_sort(summary.stages, {}, &StageSummary::stage);
}

}  // namespace

std::string StageSummary::Label() const {
  return gpu.empty() ? std::to_string(stage) : fmt::format("{}, {}", stage, gpu);
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
  if (played.job != nullptr) {
    AddMemory(played, summary);
    summary.figures = FiguresOf(*played.job, summary.step_ps);
  }
  return summary;
}

void SetMemory(const Cast& cast, std::span<const StageMemory> memory_of_program,
               StepSummary& summary) {
  for (StageSummary& stage : summary.stages) {
    stage.memory = memory_of_program[cast.players[stage.player].program];
  }
  if (const StageSummary* const fullest = summary.Fullest()) {
    summary.memory_size_bytes = fullest->memory.usable_bytes;
  }
}

}  // namespace orrery::simulate
