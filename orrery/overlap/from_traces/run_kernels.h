#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/overlap/nsight_compute.h"
#include "orrery/overlap/concurrent_kernels.h"
#include "orrery/trace/trace.h"

namespace orrery::overlap::from_traces {

/// A kernel that computes, as one rank's recording has it.
struct RunKernel {
  std::string name;
  std::array<std::int64_t, 3> grid = {};   // zeros where it is not known
  std::array<std::int64_t, 3> block = {};  // …
  LaunchShape shape = {};
  std::int32_t device = 0;
  std::int64_t stream = 0;
  std::int64_t begin_ns = 0;
  std::int64_t duration_ns = 0;

  [[nodiscard]] std::int64_t end_ns() const { return begin_ns + duration_ns; }
};

/// A kernel that communicates.
struct RunCommunication {
  std::string name;
  std::string collective = {};  // "all_reduce"; empty where nothing tells
  std::string algorithm =
      {};  // "RING", "TREE" …, from the kernel's name; empty where it does not say
  std::string protocol = {};  // "LL", "LL128", "SIMPLE"
  std::int64_t bytes = -1;
  std::int32_t ranks = -1;
  std::int64_t channels = 0;  // blocks: one is one channel; 0 where they are not known
  int threads = 0;
  std::int32_t device = 0;
  std::int64_t begin_ns = 0;
  std::int64_t duration_ns = 0;

  [[nodiscard]] std::int64_t end_ns() const { return begin_ns + duration_ns; }
};

/// What one rank ran on its GPU, in order of begin.
struct RunKernels {
  std::vector<RunKernel> kernels;
  std::vector<RunCommunication> communications;
};

/// Copies and sets of memory are left out; kernels of no time too.
[[nodiscard]] RunKernels KernelsOf(const trace::Trace& trace);

/// Kernels that were profiled one by one, as if they had run one after the other. Those without a
/// duration are left out.
[[nodiscard]] RunKernels KernelsOf(const CountedKernels& counted);

/// Returns the function of a kernel's name: without namespaces, template arguments and parameters.
[[nodiscard]] std::string FunctionName(std::string_view kernel);

}  // namespace orrery::overlap::from_traces
