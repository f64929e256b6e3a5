#pragma once

#include "orrery/hardware/gpu.h"
#include "orrery/memory/uvm/parameters.h"
#include "orrery/memory/uvm/workload.h"
#include "orrery/trace/trace.h"

namespace orrery::memory::uvm {

/// The sources of a workload, and the assumptions made.
struct Basis {
  std::int32_t device = -1;
  std::int64_t works = 0;
  std::int64_t works_elsewhere = 0;        // on other devices: left out
  std::int64_t works_before = 0;           // the first step: not simulated
  std::int64_t works_without_touches = 0;  // no touch of managed memory is known
  std::int64_t touches_by_page = 0;
  std::int64_t touches_by_extent = 0;    // of copies, sets and descriptors
  std::int64_t touches_whole = 0;        // counted, without pages: the object counts in full
  std::int64_t touches_by_argument = 0;  // the object counts in full
  std::int64_t touches_left_out = 0;     // of no object, or of memory that is not managed
  std::int64_t durations_modelled = 0;   // from bytes and bandwidth; others are recorded
};

struct Collected {
  Workload workload;
  Basis basis;
};

/// Builds a workload from a recording, for the device with most work. Touches are recorded pages,
/// else the extent, else the whole object. Operators are the outermost ones around a launch; work
/// without one is an operator of its own. Work before the first step is not simulated; what it
/// touched is on the host when the first step begins.
[[nodiscard]] Collected Collect(const trace::Trace& trace, const Parameters& parameters,
                                const hardware::Gpu& gpu);

}  // namespace orrery::memory::uvm
