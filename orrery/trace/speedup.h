#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "orrery/trace/kernel_class.h"

namespace orrery::trace {

/// A part of a machine or of its work that a what-if makes faster.
enum class Part : std::uint8_t {
  kNetwork,    // NICs and links between GPUs of a node
  kNics,       // bandwidth
  kLinks,      // bandwidth between GPUs of a node
  kFlops,      // peak FLOP/s of GPUs
  kMemory,     // HBM bandwidth of GPUs
  kCompute,    // all compute kernels
  kGemm,       // GEMMs and convolutions
  kAttention,  // kernels
  kOptimizer,  // kernels
  kOther,      // compute kernels of no other class
  kKernel,     // kernels whose name contains `name`
  kOperator,   // kernels launched under operators whose name contains `name`
  kHost,       // all host time
  kRank,       // the lateness of rank `name` goes; no factor
};

/// A part that is `factor` times as fast.
struct Speedup {
  Part part = Part::kNetwork;
  double factor = 1;
  std::string name = {};
  std::string text = {};  // as given by the user
};

/// Reads "network=2", "kernel:NAME=1.5" or "rank:3"; none where the text has another form. Names
/// may have ':' and '=': the part ends at the first ':', the name at the last '='.
[[nodiscard]] std::optional<Speedup> ParseSpeedup(std::string_view text);

/// The part that kernels of a class are: GEMM, attention, optimizer or other.
[[nodiscard]] Part PartOf(KernelClass kernel_class);

}  // namespace orrery::trace
