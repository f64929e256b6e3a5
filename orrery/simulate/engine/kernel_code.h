#pragma once

#include <cstdint>

#include "orrery/overlap/concurrent_kernels.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {

/// A side of a pair of kernels as one number, rounded, so that few differ and equal ones are asked
/// for once: times and rates to three bits behind the first (6 % at most), shares to 1/64. Rounding
/// comes before a model is asked, so that it does not matter which of several equal ones asked
/// first. 0: nothing is known.
using KernelCode = std::uint32_t;

/// A kernel that computes; shares are those of it alone, in millionths.
struct ComputeTask {
  std::uint8_t operation = workload::kNoOperation;  // a kernel::OperatorKind
  std::int64_t alone_ps = 0;
  std::uint32_t memory_share = 0;   // of the memory's bandwidth
  std::uint32_t compute_share = 0;  // of the peak of its type
};

/// A kernel that communicates, on one of the GPUs that take part.
struct CommunicationTask {
  std::uint32_t blocks = 0;
  std::uint32_t threads = 0;  // of a block
  overlap::Pattern pattern = overlap::Pattern::kSpin;
  double payload_gbps = 0;
  std::int64_t chunk_bytes = 0;  // between two looks at flags
};

[[nodiscard]] KernelCode CodeOf(const ComputeTask& task);
[[nodiscard]] KernelCode CodeOf(const CommunicationTask& task);

/// The task in the middle of those that share the number.
[[nodiscard]] ComputeTask ComputeTaskOf(KernelCode code);
[[nodiscard]] CommunicationTask CommunicationTaskOf(KernelCode code);

/// The same while it waits for others.
[[nodiscard]] KernelCode Waiting(KernelCode communication);

/// Concurrent communication kernels as one kernel: with the blocks of all and all that they
/// move, in the manner of the one that moves most. The same in any order.
class CommunicationSum {
 public:
  void Add(KernelCode communication);

  /// 0 when there was none.
  [[nodiscard]] KernelCode Total() const;

 private:
  KernelCode most_ = 0;  // of those added: moves most
  std::int64_t most_traffic_ = -1;
  std::int64_t traffic_ = 0;  // of all, MB/s through memory
  std::uint32_t blocks_ = 0;
  std::uint32_t threads_ = 0;
  int count_ = 0;
};

/// A time as it is rounded in a code, in nanoseconds.
[[nodiscard]] std::uint32_t CodeOfTime(std::int64_t ps);
[[nodiscard]] double TimeOfCodeUs(std::uint32_t code);

}  // namespace orrery::simulate
