#include "orrery/workload/program.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace orrery::workload {
namespace {

// Calls `visit(from, to, lag)` for each dependency of the program.
template <typename Visit>
void ForEachDependency(const Program& program, Visit&& visit) {
  for (TaskId task = 0; task < program.tasks.size(); ++task) {
    if (program.tasks.launch[task] != kNone) {
      visit(program.tasks.launch[task], task, program.launch_latency_ps);
    }
  }
  for (RowId edge = 0; edge < program.edges.size(); ++edge) {
    visit(program.edges.from[edge], program.edges.to[edge], program.edges.lag_ps[edge]);
  }
}

}  // namespace

Successors SuccessorsOf(const Program& program) {
  Successors result;
  result.offsets.assign(program.tasks.size() + 1, 0);
  ForEachDependency(program,
                    [&](TaskId from, TaskId, std::int64_t) { ++result.offsets[from + 1]; });
  for (std::size_t task = 0; task < program.tasks.size(); ++task) {
    result.offsets[task + 1] += result.offsets[task];
  }
  result.targets.resize(result.offsets.back());
  result.lags_ps.resize(result.offsets.back());
  std::vector<std::uint32_t> next(result.offsets.begin(), result.offsets.end() - 1);
  ForEachDependency(program, [&](TaskId from, TaskId to, std::int64_t lag_ps) {
    const std::uint32_t place = next[from]++;
    result.targets[place] = to;
    result.lags_ps[place] = lag_ps;
  });
  return result;
}

std::uint32_t CommunicationShare(collective::CollectiveKind kind, int multiprocessors) {
  constexpr std::uint32_t kMillion = 1'000'000;
  const std::uint32_t blocks = kind == collective::CollectiveKind::kSendRecv ? 4 : 16;
  return blocks * kMillion / static_cast<std::uint32_t>(std::max(multiprocessors, 1));
}

}  // namespace orrery::workload
