#pragma once

#include <cstdint>
#include <string>

#include "orrery/base/error.h"
#include "orrery/base/units.h"
#include "orrery/hardware/gpu.h"
#include "orrery/memory/uvm/prefetch_tree.h"
#include "orrery/memory/uvm/residency.h"

namespace orrery::memory::uvm {

/// How the driver keeps managed memory and what it costs; data/memory/uvm.yaml says where the
/// numbers come from.
struct Parameters {
  std::int64_t block_bytes = 0;
  std::int64_t page_bytes = 0;
  std::int64_t leaf_bytes = 0;
  int threshold_percent = 0;
  int batch_faults = 0;
  std::int64_t batch_latency_ns = 0;
  std::int64_t block_service_ns = 0;
  std::int64_t prefetch_call_ns = 0;
  double prefetch_share = 0;  // of the link to the host
  double fault_share = 0;
  double eviction_share = 0;
  std::int64_t kernel_floor_ns = 0;
  std::string gpu = {};  // where the recording does not say
  int iterations = 0;
  int max_lookahead = 0;

  [[nodiscard]] PrefetchTree Tree() const;
};

/// What is built into the program.
[[nodiscard]] const Parameters& DefaultParameters();

/// Fails where sizes do not fit each other: pages are powers of two, divide leaves, and a block has
/// at most as many as a mask.
[[nodiscard]] Status CheckParameters(const Parameters& parameters);

/// How fast pages move on one GPU.
struct Rates {
  Bandwidth prefetch;  // to the GPU, large copies
  Bandwidth fault;     // to the GPU, pages of a batch
  Bandwidth eviction;  // to the host
  Bandwidth memory;    // of the GPU; new pages are cleared at this rate
};

[[nodiscard]] Rates RatesOn(const hardware::Gpu& gpu, const Parameters& parameters);

/// Returns how long pages take that come at `in`, with what is evicted for them before.
[[nodiscard]] std::int64_t MoveTime(const Movement& moved, std::int64_t page_bytes, Bandwidth in,
                                    const Rates& rates);

}  // namespace orrery::memory::uvm
