#include "orrery/simulate/engine/overlap_rates.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>

#include "orrery/base/math/mix_bits.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/operator.h"
#include "orrery/overlap/concurrent_kernels.h"
#include "orrery/simulate/engine/kernel_code.h"

namespace orrery::simulate {
namespace {

constexpr std::int64_t kAll = 1'000'000;     // the shares of tasks are millionths
constexpr std::int64_t kLeastLeft = 10'000;  // a multiprocessor is always there for computing

constexpr double kMillionths = 1e6;
constexpr double kPicosecondsPerMicrosecond = 1e6;

// Compile-time limits of NCCL's kernels (2.30, sm_80 to sm_100): a cap on registers, and memory for
// 20 warps.
constexpr int kRegistersOfThread = 96;
constexpr int kSharedBytesOfBlock = 82'240;

// No kernel stands still for another; what finds no room at all creeps.
constexpr double kMostSlowdown = 1000;

// The share of a resource that each task gets if all together want so much.
double ShareOf(std::int64_t wanted, std::int64_t available = kAll) {
  return wanted <= available ? 1.0 : static_cast<double>(available) / static_cast<double>(wanted);
}

bool Computes(const RunningTask& task) {
  return !task.is_communication && task.sm_share > 0;
}

KernelCode SideOf(const RunningTask& communication) {
  return communication.is_waiting ? Waiting(communication.side) : communication.side;
}

KernelCode AllCommunication(std::span<const RunningTask> running) {
  CommunicationSum sum;
  for (const RunningTask& task : running) {
    if (task.is_communication) {
      sum.Add(SideOf(task));
    }
  }
  return sum.Total();
}

/// The shares that computing kernels leave each other.
struct ComputeShares {
  double processors = 1;
  double memory = 1;

  [[nodiscard]] double Of(const RunningTask& task) const {
    return std::min(processors, task.memory_share > 0 ? memory : 1.0);
  }
};

ComputeShares SharesOf(std::span<const RunningTask> running) {
  std::int64_t processors = 0;
  std::int64_t memory = 0;
  for (const RunningTask& task : running) {
    if (!task.is_communication) {
      processors += task.sm_share;
      memory += task.memory_share;
    }
  }
  return {ShareOf(processors), ShareOf(memory)};
}

double WithinReason(double slowdown) {
  return slowdown >= 1 ? std::min(slowdown, kMostSlowdown) : 1.0;  // also what is not a number
}

double AloneUs(const ComputeTask& task) {
  return static_cast<double>(task.alone_ps) / kPicosecondsPerMicrosecond;
}

overlap::ComputeKernel ComputeKernelOf(KernelCode code, const SharedGpu& gpu) {
  const ComputeTask task = ComputeTaskOf(code);
  const double alone_us = AloneUs(task);
  overlap::ComputeKernel side;
  if (task.operation < kernel::kNumOperatorKinds) {
    side.kind = kernel::SchemaOf(static_cast<kernel::OperatorKind>(task.operation)).name;
  }
  side.family =
      gpu.gpu != nullptr ? overlap::DefaultFamily(*gpu.gpu, side.kind) : overlap::Family::kOther;
  side.alone_us = alone_us;
  side.flops_peak = gpu.flops_per_second;
  side.flops = task.compute_share / kMillionths * gpu.flops_per_second * alone_us * 1e-6;
  side.bytes = task.memory_share / kMillionths * gpu.bytes_per_second * alone_us * 1e-6;
  return side;
}

overlap::CommunicationKernel CommunicationKernelOf(KernelCode code, overlap::Priority priority) {
  const CommunicationTask task = CommunicationTaskOf(code);
  return {.shape = {.blocks = task.blocks,
                    .threads = static_cast<int>(task.threads),
                    .registers = kRegistersOfThread,
                    .shared_bytes = kSharedBytesOfBlock},
          .pattern = task.pattern,
          .priority = priority,
          .payload_gbps = task.payload_gbps,
          .chunk_bytes = static_cast<double>(task.chunk_bytes)};
}

}  // namespace

void AnalyticOverlap::Rates(std::span<const RunningTask> running, std::span<double> rates) const {
  std::int64_t held = 0;  // multiprocessors of communication
  std::int64_t wanted = 0;
  std::int64_t memory = 0;
  for (const RunningTask& task : running) {
    (task.is_communication ? held : wanted) += task.sm_share;
    memory += task.is_waiting ? 0 : task.memory_share;
  }
  const double compute_rate = ShareOf(wanted, std::max(kAll - held, kLeastLeft));
  const double memory_rate = ShareOf(memory);
  for (std::size_t i = 0; i < running.size(); ++i) {
    rates[i] = std::min(Computes(running[i]) ? compute_rate : 1.0,
                        running[i].memory_share > 0 ? memory_rate : 1.0);
  }
}

SharedGpu SharedGpuOf(const hardware::Gpu& gpu) {
  return {.gpu = &gpu,
          .machine = overlap::MachineOf(gpu),
          .bytes_per_second = gpu.memory.bytes_per_second,
          .flops_per_second = gpu.PeakFlops("bf16").value_or(gpu.PeakFlops("fp32").value_or(0))};
}

std::size_t PairKeyHash::operator()(const PairKey& key) const {
  const std::uint64_t pair = (std::uint64_t{key.compute} << 32) | key.communication;
  return MixBits(MixBits(pair) + ((std::uint64_t{key.arrival} << 32) | key.gpu));
}

std::optional<overlap::Slowdown> PairMemo::FindSlowdown(const PairKey& key) const {
  const std::shared_lock lock(mutex_);
  const auto known = slowdowns_.find(key);
  return known == slowdowns_.end() ? std::nullopt : std::optional(known->second);
}

std::optional<std::int64_t> PairMemo::FindDelay(const PairKey& key) const {
  const std::shared_lock lock(mutex_);
  const auto known = delays_.find(key);
  return known == delays_.end() ? std::nullopt : std::optional(known->second);
}

void PairMemo::Add(const PairKey& key, const overlap::Slowdown& slowdown) {
  const std::unique_lock lock(mutex_);
  slowdowns_.emplace(key, slowdown);
}

void PairMemo::Add(const PairKey& key, std::int64_t delay_ps) {
  const std::unique_lock lock(mutex_);
  delays_.emplace(key, delay_ps);
}

std::uint32_t ModelledOverlap::GpuOf(const RunningTask& task) const {
  return settings_.gpu_of_program.empty() ? 0 : settings_.gpu_of_program[task.program];
}

overlap::Pair ModelledOverlap::PairOf(const PairKey& key) const {
  return {ComputeKernelOf(key.compute, settings_.gpus[key.gpu]),
          CommunicationKernelOf(key.communication, settings_.priority)};
}

const overlap::Slowdown& ModelledOverlap::SlowdownOf(const PairKey& key) const {
  if (const auto known = slowdowns_.find(key); known != slowdowns_.end()) {
    return known->second;
  }
  const bool is_shared = settings_.memo != nullptr && key.gpu == 0;
  std::optional<overlap::Slowdown> slowdown =
      is_shared ? settings_.memo->FindSlowdown(key) : std::nullopt;
  if (!slowdown) {
    const overlap::Slowdown asked =
        settings_.model->SlowdownOf(settings_.gpus[key.gpu].machine, PairOf(key));
    slowdown = {WithinReason(asked.compute), WithinReason(asked.communication)};
    if (is_shared) {
      settings_.memo->Add(key, *slowdown);
    }
  }
  return slowdowns_.emplace(key, *slowdown).first->second;
}

void ModelledOverlap::Rates(std::span<const RunningTask> running, std::span<double> rates) const {
  const KernelCode communication = AllCommunication(running);
  const ComputeShares shares = SharesOf(running);
  double delayed = 1;
  for (std::size_t i = 0; i < running.size(); ++i) {
    rates[i] = 1;
    if (!Computes(running[i])) {
      continue;
    }
    rates[i] = shares.Of(running[i]);
    if (communication != 0) {
      const overlap::Slowdown& slowdown =
          SlowdownOf({running[i].side, communication, GpuOf(running[i])});
      rates[i] /= slowdown.compute;
      delayed = std::max(delayed, slowdown.communication);
    }
  }
  for (std::size_t i = 0; i < running.size(); ++i) {
    if (running[i].is_communication) {
      rates[i] = 1 / delayed;
    }
  }
}

std::int64_t ModelledOverlap::DelayOf(const PairKey& key, const overlap::Arrival& arrival) const {
  if (const auto known = delays_.find(key); known != delays_.end()) {
    return known->second;
  }
  const bool is_shared = settings_.memo != nullptr && key.gpu == 0;
  std::optional<std::int64_t> delay_ps = is_shared ? settings_.memo->FindDelay(key) : std::nullopt;
  if (!delay_ps) {
    const double delay_us =
        settings_.model->DelayUs(settings_.gpus[key.gpu].machine, PairOf(key), arrival);
    delay_ps =
        delay_us > 0 ? std::llround(std::min(delay_us, 1e6) * kPicosecondsPerMicrosecond) : 0;
    if (is_shared) {
      settings_.memo->Add(key, *delay_ps);
    }
  }
  delays_.emplace(key, *delay_ps);
  return *delay_ps;
}

std::int64_t ModelledOverlap::DelayPs(const RunningTask& arriving,
                                      std::span<const RunningTask> running,
                                      std::span<const std::int64_t> running_ps) const {
  std::int64_t longest_ps = 0;
  for (std::size_t i = 0; i < running.size(); ++i) {
    if (running[i].is_communication == arriving.is_communication) {
      continue;
    }
    const RunningTask& compute = arriving.is_communication ? running[i] : arriving;
    const RunningTask& communication = arriving.is_communication ? arriving : running[i];
    if (!Computes(compute) || communication.side == 0) {
      continue;
    }
    const std::uint32_t since = CodeOfTime(running_ps[i]);
    // The time of communication alone is not known.
    const double first_us = arriving.is_communication ? AloneUs(ComputeTaskOf(compute.side)) : 0;
    const std::uint32_t is_first = arriving.is_communication ? 1 : 0;
    const PairKey key{compute.side, SideOf(communication), GpuOf(arriving), since * 2 + is_first};
    longest_ps = std::max(longest_ps, DelayOf(key, {.compute_is_first = is_first == 1,
                                                    .since_us = TimeOfCodeUs(since),
                                                    .first_us = first_us}));
  }
  return longest_ps;
}

}  // namespace orrery::simulate
