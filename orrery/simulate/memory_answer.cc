#include "orrery/simulate/memory_answer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "orrery/workload/plan/memory_constants.h"

namespace orrery::simulate {
namespace {

// Memory that is held from the begin to the end leaves no gaps.
std::int64_t HeldBytes(const workload::Program& program) {
  std::int64_t held = 0;
  for (workload::RowId row = 0; row < program.held_memory.size(); ++row) {
    held += program.held_memory.bytes[row];
  }
  return held;
}

std::int64_t UsableBytes(const hardware::Gpu& gpu) {
  return std::llround(static_cast<double>(gpu.memory_size.count) *
                      workload::DefaultMemoryConstants().usable);
}

StageMemory MemoryOfPlayer(const Cast& cast, const Performance& performance, PlayerId player) {
  MemoryTimeline timeline = MemoryOf(cast, performance, player, {.rounds_like_allocator = true});
  const std::int64_t passing =
      std::max<std::int64_t>(0, timeline.peak_bytes - HeldBytes(cast.ProgramOf(player)));
  const double gaps =
      workload::DefaultMemoryConstants().fragmentation * static_cast<double>(passing);
  return {.program = cast.players[player].program,
          .player = player,
          .peak_bytes = timeline.peak_bytes,
          .needed_bytes = timeline.peak_bytes + std::llround(gaps),
          .peak_ps = timeline.peak_ps,
          .parts = std::move(timeline.parts)};
}

}  // namespace

MemoryAnswer MemoryAnswerOf(const Cast& cast, const Performance& performance,
                            const workload::Job& job) {
  MemoryAnswer answer;
  std::vector<bool> is_seen(cast.programs.size(), false);
  for (PlayerId player = 0; player < cast.players.size(); ++player) {
    // Ranks of a program hold the same, on the same GPU; when is a matter of moments.
    const workload::ProgramId program = cast.players[player].program;
    if (!is_seen[program]) {
      is_seen[program] = true;
      answer.stages.push_back(MemoryOfPlayer(cast, performance, player));
      answer.stages.back().usable_bytes =
          UsableBytes(workload::GpuOfRank(job, cast.players[player].rank));
    }
  }
  std::ranges::sort(answer.stages, {}, &StageMemory::program);
  const auto fullest = std::ranges::min_element(answer.stages, {}, &StageMemory::free_bytes);
  answer.fullest = static_cast<std::size_t>(fullest - answer.stages.begin());
  return answer;
}

}  // namespace orrery::simulate
