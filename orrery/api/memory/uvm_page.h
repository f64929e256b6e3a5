#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "orrery/api/fields/documents.h"
#include "orrery/hardware/gpu.h"
#include "orrery/memory/uvm/collect.h"
#include "orrery/memory/uvm/simulation.h"
#include "orrery/trace/trace.h"

namespace orrery::api {

/// A recording as the simulator of managed memory simulates it.
struct UvmRun {
  std::string title;
  const trace::Trace* trace = nullptr;
  const hardware::Gpu* gpu = nullptr;
  bool is_gpu_assumed = false;
  memory::uvm::Collected collected;
};

/// All policies on one run with one size of memory.
struct UvmCase {
  const UvmRun* run = nullptr;
  double factor = 0;  // the memory is too small by it; 0: a size was given
  memory::uvm::Comparison comparison;
};

/// Returns "1×", "3×" or the size.
[[nodiscard]] std::string UvmMemoryText(const UvmCase& one);

/// All tables: policies, lookaheads, operators, objects, what was simulated and the schedule.
[[nodiscard]] std::vector<Document::Table> UvmTables(const std::vector<UvmCase>& cases,
                                                     std::size_t top);

}  // namespace orrery::api
