#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "orrery/cli/memory/tool.h"
#include "orrery/hardware/gpu.h"
#include "orrery/memory/uvm/collect.h"
#include "orrery/memory/uvm/comparison.h"
#include "orrery/trace/trace.h"

namespace orrery::cli {

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
  double factor = 0;  // how many times too small; 0: a size was given
  memory::uvm::Comparison comparison;
};

/// Returns facts, tables, pictures and sentences of all cases.
[[nodiscard]] MemoryResult UvmPage(const std::vector<UvmCase>& cases,
                                   const memory::uvm::Parameters& parameters, std::size_t top);

/// Returns "1×", "3×" or the size.
[[nodiscard]] std::string UvmMemoryText(const UvmCase& one);

[[nodiscard]] report::Document::Table UvmPolicyTable(const std::vector<UvmCase>& cases);
[[nodiscard]] report::Document::Table UvmLookaheadTable(const std::vector<UvmCase>& cases);
[[nodiscard]] report::Document::Table UvmOperatorTable(const std::vector<UvmCase>& cases,
                                                       std::size_t top);
[[nodiscard]] report::Document::Table UvmObjectTable(const std::vector<UvmCase>& cases,
                                                     std::size_t top);
[[nodiscard]] report::Document::Table UvmScheduleTable(const std::vector<UvmCase>& cases);
[[nodiscard]] report::Document::Table UvmBasisTable(const std::vector<UvmCase>& cases);

}  // namespace orrery::cli
