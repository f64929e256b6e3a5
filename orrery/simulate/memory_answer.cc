#include "orrery/simulate/memory_answer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "orrery/workload/plan/state_memory.h"

namespace orrery::simulate {
namespace {

// Memory that is held from the begin to the end leaves no gaps.
std::int64_t HeldBytes(const workload::Program& program) {
  std::int64_t held = 0;
  for (RowId row = 0; row < program.held_memory.size(); ++row) {
    held += program.held_memory.bytes[row];
  }
  return held;
}

std::int64_t UsableBytes(const hardware::Gpu& gpu) {
  return std::llround(static_cast<double>(gpu.memory_size.count) *
                      workload::DefaultMemoryConstants().usable);
}

StageMemory MemoryOfRankClass(const RankClasses& rank_classes, const Timeline& timeline, RankClassId rank_class) {
  MemoryTimeline memory = MemoryOf(rank_classes, timeline, rank_class, {.rounds_like_allocator = true});
  const std::int64_t passing =
      std::max<std::int64_t>(0, memory.peak_bytes - HeldBytes(rank_classes.ProgramOf(rank_class)));
  const double gaps =
      workload::DefaultMemoryConstants().fragmentation * static_cast<double>(passing);
  return {.program = rank_classes.classes[rank_class].program,
          .rank_class = rank_class,
          .peak_bytes = memory.peak_bytes,
          .needed_bytes = memory.peak_bytes + std::llround(gaps),
          .peak_ps = memory.peak_ps,
          .parts = std::move(memory.parts)};
}

}  // namespace

MemoryAnswer MemoryAnswerOf(const RankClasses& rank_classes, const Timeline& timeline,
                            const workload::Job& job) {
  MemoryAnswer answer;
  std::vector<bool> is_seen(rank_classes.programs.size(), false);
  for (RankClassId rank_class = 0; rank_class < rank_classes.classes.size(); ++rank_class) {
    // Ranks of a program hold the same, on the same GPU; when is a matter of moments.
    const workload::ProgramId program = rank_classes.classes[rank_class].program;
    if (!is_seen[program]) {
      is_seen[program] = true;
      answer.stages.push_back(MemoryOfRankClass(rank_classes, timeline, rank_class));
      answer.stages.back().usable_bytes =
          UsableBytes(workload::GpuOfRank(job, rank_classes.classes[rank_class].rank));
    }
  }
  std::ranges::sort(answer.stages, {}, &StageMemory::program);
  const auto fullest = std::ranges::min_element(answer.stages, {}, &StageMemory::free_bytes);
  answer.fullest = static_cast<std::size_t>(fullest - answer.stages.begin());
  return answer;
}

}  // namespace orrery::simulate
