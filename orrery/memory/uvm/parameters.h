#pragma once

#include <cstdint>
#include <string>

#include "orrery/base/error.h"
#include "orrery/base/units.h"
#include "orrery/hardware/gpu.h"
#include "orrery/memory/uvm/residency.h"

namespace orrery::memory::uvm {

/// Properties and costs of managed memory; data/memory/uvm.yaml has the sources.
struct Parameters {
  std::int64_t block_bytes = 0;
  std::int64_t page_bytes = 0;
  std::int64_t leaf_bytes = 0;
  int threshold_percent = 0;
  int batch_faults = 0;
  std::int64_t wake_ns = 0;  // until the driver handles a kernel's first fault
  std::int64_t batch_latency_ns = 0;
  std::int64_t block_service_ns = 0;
  std::int64_t prefetch_wake_ns = 0;  // until calls in a stream are served
  std::int64_t prefetch_call_ns = 0;
  std::int64_t prefetch_move_ns = 0;   // added if a call moves anything
  std::int64_t prefetch_block_ns = 0;  // even if all of it is resident
  double prefetch_share = 0;           // of the link to the host
  double fault_share = 0;
  double eviction_share = 0;
  double fault_population_gbps = 0;  // pages without data, independent of the link
  double prefetch_population_gbps = 0;
  std::int64_t kernel_floor_ns = 0;
  std::string gpu = {};  // if the recording does not name it
  int iterations = 0;
  int max_lookahead = 0;
  std::string cost_source = {};      // source of the costs, for reports
  bool has_prefetch_stream = false;  // calls are in a separate idle stream

  [[nodiscard]] PrefetchTree Tree() const;
};

/// The built-in parameters, with costs measured on one virtual machine.
[[nodiscard]] const Parameters& DefaultParameters();

/// The same with published costs of physical machines; unverified.
[[nodiscard]] const Parameters& PublishedParameters();

/// Fails where sizes are inconsistent: pages are powers of two, divide leaves, and the pages of a
/// block fit into a mask.
[[nodiscard]] Status CheckParameters(const Parameters& parameters);

/// Bandwidth of pages to the GPU.
struct Inflow {
  Bandwidth copied;  // from the host
  Bandwidth empty;   // pages without data
};

/// Bandwidths of migration on one GPU.
struct Rates {
  Inflow prefetch;
  Inflow fault;
  Bandwidth eviction;  // to the host
};

[[nodiscard]] Rates RatesOn(const hardware::Gpu& gpu, const Parameters& parameters);

/// Returns the time to move pages in at `in`, with the evictions before them.
[[nodiscard]] std::int64_t MoveTime(const Movement& moved, std::int64_t page_bytes,
                                    const Inflow& in, const Rates& rates);

}  // namespace orrery::memory::uvm
