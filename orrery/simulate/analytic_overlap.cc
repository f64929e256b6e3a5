#include "orrery/simulate/analytic_overlap.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace orrery::simulate {
namespace {

constexpr std::int64_t kAll = 1'000'000;     // the shares of tasks are millionths
constexpr std::int64_t kLeastLeft = 10'000;  // a multiprocessor is always there for computing

// The rate of everything that computes, by the multiprocessors that communication leaves.
double ComputeRate(std::span<const RunningTask> running) {
  std::int64_t held = 0;
  std::int64_t wanted = 0;
  for (const RunningTask& task : running) {
    (task.is_communication ? held : wanted) += task.sm_share;
  }
  const std::int64_t left = std::max(kAll - held, kLeastLeft);
  return wanted <= left ? 1.0 : static_cast<double>(left) / static_cast<double>(wanted);
}

// The rate of everything that uses the memory, by what all that runs wants of its bandwidth.
double MemoryRate(std::span<const RunningTask> running) {
  std::int64_t wanted = 0;
  for (const RunningTask& task : running) {
    wanted += task.is_waiting ? 0 : task.memory_share;
  }
  return wanted <= kAll ? 1.0 : static_cast<double>(kAll) / static_cast<double>(wanted);
}

}  // namespace

void AnalyticOverlap::Rates(std::span<const RunningTask> running, std::span<double> rates) const {
  const double compute_rate = ComputeRate(running);
  const double memory_rate = MemoryRate(running);
  for (std::size_t i = 0; i < running.size(); ++i) {
    const bool computes = !running[i].is_communication && running[i].sm_share > 0;
    rates[i] =
        std::min(computes ? compute_rate : 1.0, running[i].memory_share > 0 ? memory_rate : 1.0);
  }
}

}  // namespace orrery::simulate
