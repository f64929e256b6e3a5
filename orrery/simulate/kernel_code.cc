#include "orrery/simulate/kernel_code.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

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

/// Numbers of a few bits in one, the first lowest.
class Packer {
 public:
  void Add(std::uint32_t number, int bits) {
    packed_ |= std::min(number, (1U << bits) - 1) << place_;
    place_ += bits;
  }

  [[nodiscard]] KernelCode packed() const { return packed_; }

 private:
  KernelCode packed_ = 0;
  int place_ = 0;
};

class Unpacker {
 public:
  explicit Unpacker(KernelCode packed) : packed_(packed) {}

  std::uint32_t Take(int bits) {
    const std::uint32_t number = packed_ & ((1U << bits) - 1);
    packed_ >>= bits;
    return number;
  }

 private:
  KernelCode packed_;
};

constexpr int kRoundedBits = 9;
constexpr int kShareBits = 7;
constexpr int kOperationBits = 8;
constexpr int kBlockBits = 8;
constexpr int kWarpBits = 6;
constexpr int kPatternBits = 3;
constexpr int kChunkBits = 5;  // a power of two of KiB

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
  Packer packer;
  packer.Add(task.operation, kOperationBits);
  packer.Add(CodeOfTime(task.alone_ps), kRoundedBits);
  packer.Add(RoundedShare(task.memory_share), kShareBits);
  packer.Add(RoundedShare(task.compute_share), kShareBits);
  return packer.packed();
}

ComputeTask ComputeTaskOf(KernelCode code) {
  Unpacker unpacker(code);
  ComputeTask task;
  task.operation = static_cast<std::uint8_t>(unpacker.Take(kOperationBits));
  task.alone_ps = std::llround(Unrounded(unpacker.Take(kRoundedBits)) *
                               static_cast<double>(kPicosecondsPerNanosecond));
  task.memory_share = ShareOf(unpacker.Take(kShareBits));
  task.compute_share = ShareOf(unpacker.Take(kShareBits));
  return task;
}

KernelCode CodeOf(const CommunicationTask& task) {
  if (task.blocks == 0) {
    return 0;
  }
  Packer packer;
  packer.Add(task.blocks, kBlockBits);
  packer.Add((task.threads + kWarp - 1) / kWarp, kWarpBits);
  packer.Add(static_cast<std::uint32_t>(task.pattern), kPatternBits);
  packer.Add(Rounded(static_cast<std::uint64_t>(
                 std::llround(std::max(task.payload_gbps, 0.0) * kMegabytesPerGigabyte))),
             kRoundedBits);
  packer.Add(static_cast<std::uint32_t>(
                 std::bit_width(static_cast<std::uint64_t>(task.chunk_bytes) >> 10)),
             kChunkBits);
  return packer.packed();
}

CommunicationTask CommunicationTaskOf(KernelCode code) {
  Unpacker unpacker(code);
  CommunicationTask task;
  task.blocks = unpacker.Take(kBlockBits);
  task.threads = unpacker.Take(kWarpBits) * kWarp;
  task.pattern = static_cast<overlap::Pattern>(unpacker.Take(kPatternBits));
  task.payload_gbps = Unrounded(unpacker.Take(kRoundedBits)) / kMegabytesPerGigabyte;
  const std::uint32_t chunk = unpacker.Take(kChunkBits);
  task.chunk_bytes = chunk == 0 ? 0 : std::int64_t{1} << (chunk - 1 + 10);
  return task;
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
