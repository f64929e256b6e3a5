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
  std::int64_t wake_ns = 0;  // until the driver hears of a kernel's first fault
  std::int64_t batch_latency_ns = 0;
  std::int64_t block_service_ns = 0;
  std::int64_t prefetch_wake_ns = 0;  // until calls are served of a stream that has reached them
  std::int64_t prefetch_call_ns = 0;
  std::int64_t prefetch_move_ns = 0;   // more for a call that moves anything
  std::int64_t prefetch_block_ns = 0;  // also where all of it is resident
  double prefetch_share = 0;           // of the link to the host
  double fault_share = 0;
  double eviction_share = 0;
  double fault_population_gbps = 0;  // pages that hold no data yet, whatever the link
  double prefetch_population_gbps = 0;
  std::int64_t kernel_floor_ns = 0;
  std::string gpu = {};  // where the recording does not say
  int iterations = 0;
  int max_lookahead = 0;
  std::string cost_source = {};      // what the costs come from, for people
  bool has_prefetch_stream = false;  // calls come from a stream of their own, which is idle

  [[nodiscard]] PrefetchTree Tree() const;
};

/// What is built into the program: costs as they were measured on one virtual machine.
[[nodiscard]] const Parameters& DefaultParameters();

/// The same with costs from what others published of machines that are not virtual; unverified.
[[nodiscard]] const Parameters& PublishedParameters();

/// Fails where sizes do not fit each other: pages are powers of two, divide leaves, and a block has
/// at most as many as a mask.
[[nodiscard]] Status CheckParameters(const Parameters& parameters);

/// How fast pages come to the GPU.
struct Inflow {
  Bandwidth copied;  // from the host
  Bandwidth empty;   // pages that hold no data yet
};

/// How fast pages move on one GPU.
struct Rates {
  Inflow prefetch;
  Inflow fault;
  Bandwidth eviction;  // to the host
};

[[nodiscard]] Rates RatesOn(const hardware::Gpu& gpu, const Parameters& parameters);

/// Returns how long pages take that come at `in`, with what is evicted for them before.
[[nodiscard]] std::int64_t MoveTime(const Movement& moved, std::int64_t page_bytes,
                                    const Inflow& in, const Rates& rates);

}  // namespace orrery::memory::uvm
