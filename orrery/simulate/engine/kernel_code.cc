#include "orrery/simulate/engine/kernel_code.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "orrery/overlap/concurrent_kernels.h"

namespace orrery::simulate {
namespace {

constexpr std::int64_t kPicosecondsPerNanosecond = 1000;
constexpr std::uint32_t kMillion = 1'000'000;
constexpr std::uint32_t kShareSteps = 64;
constexpr std::uint32_t kWarp = 32;
constexpr double kMegabytesPerGigabyte = 1000;
constexpr int kFraction = 3;  // bits behind the first

// Numbers below 16 as they are; above, which power of two and eighths of it.
std::uint32_t Rounded(std::uint64_t number) {
  if (number < (2U << kFraction)) {
    return static_cast<std::uint32_t>(number);
  }
  const auto exponent = static_cast<int>(std::bit_width(number)) - 1;
  const auto eighths = static_cast<std::uint32_t>(number >> (exponent - kFraction)) & 7U;
  return (static_cast<std::uint32_t>(exponent - kFraction + 1) << kFraction) + eighths;
}

double Unrounded(std::uint32_t code) {
  if (code < (2U << kFraction)) {
    return code;
  }
  const std::uint32_t exponent = (code >> kFraction) - 1;
  return std::ldexp(8.5 + (code & 7U), static_cast<int>(exponent));
}

std::uint32_t RoundedShare(std::uint32_t millionths) {
  return (std::min(millionths, kMillion) * kShareSteps + kMillion / 2) / kMillion;
}

std::uint32_t ShareOf(std::uint32_t steps) {
  return steps * (kMillion / kShareSteps);
}

// Of operation, time, memory, compute; of blocks, warps, pattern, rate, chunk.
constexpr std::array<int, 4> kComputeBits = {8, 9, 7, 7};
constexpr std::array<int, 5> kCommunicationBits = {8, 6, 3, 9, 5};

/// Numbers of a few bits in one, the first lowest.
template <std::size_t kSize>
KernelCode Packed(const std::array<int, kSize>& bits,
                  const std::array<std::uint32_t, kSize>& numbers) {
  KernelCode packed = 0;
  int place = 0;
  for (std::size_t i = 0; i < kSize; place += bits[i++]) {
    packed |= std::min(numbers[i], (1U << bits[i]) - 1) << place;
  }
  return packed;
}

template <std::size_t kSize>
std::array<std::uint32_t, kSize> Unpacked(const std::array<int, kSize>& bits, KernelCode packed) {
  std::array<std::uint32_t, kSize> numbers{};
  for (std::size_t i = 0; i < kSize; packed >>= bits[i++]) {
    numbers[i] = packed & ((1U << bits[i]) - 1);
  }
  return numbers;
}

// In whole MB/s, so that sums do not depend on their order.
std::int64_t TrafficOf(const CommunicationTask& task) {
  return std::llround(task.payload_gbps * overlap::TrafficOfPayload(task.pattern) *
                      kMegabytesPerGigabyte);
}

}  // namespace

std::uint32_t CodeOfTime(std::int64_t ps) {
  return Rounded(
      static_cast<std::uint64_t>(std::max<std::int64_t>(ps, 0) / kPicosecondsPerNanosecond));
}

double TimeOfCodeUs(std::uint32_t code) {
  return Unrounded(code) / 1000;
}

KernelCode CodeOf(const ComputeTask& task) {
  return Packed(kComputeBits, {task.operation, CodeOfTime(task.alone_ps),
                               RoundedShare(task.memory_share), RoundedShare(task.compute_share)});
}

ComputeTask ComputeTaskOf(KernelCode code) {
  const auto [operation, time, memory, compute] = Unpacked(kComputeBits, code);
  return {
      .operation = static_cast<std::uint8_t>(operation),
      .alone_ps = std::llround(Unrounded(time) * static_cast<double>(kPicosecondsPerNanosecond)),
      .memory_share = ShareOf(memory),
      .compute_share = ShareOf(compute)};
}

KernelCode CodeOf(const CommunicationTask& task) {
  if (task.blocks == 0) {
    return 0;
  }
  const long long megabytes =
      std::llround(std::max(task.payload_gbps, 0.0) * kMegabytesPerGigabyte);
  // A power of two of KiB.
  const auto chunk = std::bit_width(static_cast<std::uint64_t>(task.chunk_bytes) >> 10);
  return Packed(
      kCommunicationBits,
      {task.blocks, (task.threads + kWarp - 1) / kWarp, static_cast<std::uint32_t>(task.pattern),
       Rounded(static_cast<std::uint64_t>(megabytes)), static_cast<std::uint32_t>(chunk)});
}

CommunicationTask CommunicationTaskOf(KernelCode code) {
  const auto [blocks, warps, pattern, rate, chunk] = Unpacked(kCommunicationBits, code);
  return {.blocks = blocks,
          .threads = warps * kWarp,
          .pattern = static_cast<overlap::Pattern>(pattern),
          .payload_gbps = Unrounded(rate) / kMegabytesPerGigabyte,
          .chunk_bytes = chunk == 0 ? 0 : std::int64_t{1} << (chunk - 1 + 10)};
}

KernelCode Waiting(KernelCode communication) {
  CommunicationTask task = CommunicationTaskOf(communication);
  task.pattern = overlap::Pattern::kSpin;
  task.payload_gbps = 0;
  return CodeOf(task);
}

void CommunicationSum::Add(KernelCode communication) {
  if (communication == 0) {
    return;
  }
  const CommunicationTask task = CommunicationTaskOf(communication);
  const std::int64_t traffic = TrafficOf(task);
  if (std::pair(traffic, communication) > std::pair(most_traffic_, most_)) {
    most_ = communication;
    most_traffic_ = traffic;
  }
  traffic_ += traffic;
  blocks_ += task.blocks;
  threads_ = std::max(threads_, task.threads);
  ++count_;
}

KernelCode CommunicationSum::Total() const {
  if (count_ < 2) {
    return most_;
  }
  CommunicationTask task = CommunicationTaskOf(most_);
  task.blocks = blocks_;
  task.threads = threads_;
  if (traffic_ > 0) {
    task.payload_gbps = static_cast<double>(traffic_) / kMegabytesPerGigabyte /
                        overlap::TrafficOfPayload(task.pattern);
  }
  return CodeOf(task);
}

}  // namespace orrery::simulate
