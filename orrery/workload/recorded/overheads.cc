#include "orrery/workload/recorded/overheads.h"

#include <algorithm>

namespace orrery::workload {
namespace {

constexpr std::int64_t kShortestGapNs = 2'000;
constexpr std::int64_t kLongestGapNs = 200'000;

std::int64_t EndOf(const Call& call) {
  return call.begin_ns + call.duration_ns;
}

}  // namespace

OperatorOverheads OverheadsOf(std::span<const Call> calls, std::uint32_t op,
                              double profiler_cost_ns) {
  OperatorOverheads overheads;
  const std::uint32_t end = op + 1 + calls[op].num_descendants;
  std::int64_t from_ns = calls[op].begin_ns;
  std::int64_t num_before = 0;   // events entered since the last launch
  std::int64_t num_counted = 0;  // those, and the launches
  for (std::uint32_t i = op + 1; i < end; ++i) {
    if (calls[i].kind != CallKind::kLaunch) {
      ++num_before;
      continue;
    }
    const double pause_ns = static_cast<double>(calls[i].begin_ns - from_ns) -
                            profiler_cost_ns * static_cast<double>(num_before);
    if (overheads.t2_ns) {
      overheads.t5_ns.push_back(std::max(0.0, pause_ns));
    } else {
      overheads.t2_ns = std::max(0.0, pause_ns);
    }
    overheads.t4_ns.push_back(static_cast<double>(calls[i].duration_ns));
    num_counted += num_before + 1;
    num_before = 0;
    from_ns = EndOf(calls[i]);
  }
  const auto num_left = static_cast<double>(1 + calls[op].num_descendants - num_counted);
  const double rest_ns =
      std::max(0.0, static_cast<double>(EndOf(calls[op]) - from_ns) - profiler_cost_ns * num_left);
  if (overheads.t2_ns) {
    overheads.t3_ns = rest_ns;
  } else {
    overheads.t5_ns.push_back(rest_ns);
  }
  return overheads;
}

std::vector<double> GapsBetweenCalls(std::span<const Call> calls, std::uint32_t parent,
                                     double profiler_cost_ns) {
  std::vector<double> gaps;
  const Call* previous = nullptr;
  ForEachChild(calls, parent, [&](std::uint32_t child) {
    if (previous != nullptr) {
      const std::int64_t gap_ns = calls[child].begin_ns - EndOf(*previous);
      if (gap_ns > kShortestGapNs && gap_ns < kLongestGapNs) {
        gaps.push_back(static_cast<double>(gap_ns) - profiler_cost_ns);
      }
    }
    previous = &calls[child];
  });
  return gaps;
}

}  // namespace orrery::workload
