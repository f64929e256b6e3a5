#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/overlap/concurrent_kernels.h"
#include "orrery/overlap/nsight_compute.h"
#include "orrery/trace/trace.h"

namespace orrery::overlap::from_traces {

/// A compute kernel of one rank's recording.
struct RunKernel {
  std::string name;
  std::array<std::int64_t, 3> grid = {};   // zeros if unknown
  std::array<std::int64_t, 3> block = {};  // …
  LaunchShape shape = {};
  std::int32_t device = 0;
  std::int64_t stream = 0;
  std::int64_t begin_ns = 0;
  std::int64_t duration_ns = 0;

  [[nodiscard]] std::int64_t end_ns() const { return begin_ns + duration_ns; }
};

/// A communication kernel.
struct RunCommunication {
  std::string name;
  std::string collective = {};  // "all_reduce"; empty if unknown
  std::string algorithm = {};   // "RING", "TREE" … from the kernel's name; empty if unknown
  std::string protocol = {};    // "LL", "LL128", "SIMPLE"
  std::int64_t bytes = -1;
  std::int32_t ranks = -1;
  std::int64_t channels = 0;  // thread blocks; 0 if unknown
  int threads = 0;
  std::int32_t device = 0;
  std::int64_t begin_ns = 0;
  std::int64_t duration_ns = 0;

  [[nodiscard]] std::int64_t end_ns() const { return begin_ns + duration_ns; }
};

/// The kernels of one rank, in order of begin.
struct RunKernels {
  std::vector<RunKernel> kernels;
  std::vector<RunCommunication> communications;
};

/// Memcpys, memsets and kernels without a duration are left out.
[[nodiscard]] RunKernels KernelsOf(const trace::Trace& trace);

/// Individually profiled kernels, as if they had run one after another. Kernels without a duration
/// are left out.
[[nodiscard]] RunKernels KernelsOf(const CountedKernels& counted);

/// Returns the function of a kernel's name: without namespaces, template arguments and parameters.
[[nodiscard]] std::string FunctionName(std::string_view kernel);

}  // namespace orrery::overlap::from_traces
