#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/table.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/estimate.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/recorded/host_model.h"
#include "orrery/workload/recorded/recorded.h"

namespace orrery::workload {

inline constexpr std::size_t kNumEstimateSources =
    static_cast<std::size_t>(kernel::EstimateSource::kRoofline) + 1;

/// How well the calls of a graph could be priced.
struct PricingSummary {
  std::int64_t calls = 0;
  std::int64_t unknown_calls = 0;  // priced by the bytes of their tensors
  std::array<std::int64_t, kNumEstimateSources> operators = {};  // by kernel::EstimateSource
  std::int64_t extrapolated = 0;  // operators outside of what was measured
};

/// What each node of an execution trace runs on the GPU itself.
struct GraphPrices {
  std::vector<std::vector<DeviceTask>> tasks_of_node;
  PricingSummary summary;
  std::vector<std::string> unknown_names;  // each once, in order of first appearance
};

/// Prices the calls of an execution trace. An operator's time is spread evenly over its launches:
/// as many as the recorded operators below it make, and where those are unknown, as many as the
/// operator made when it was measured ("launches" of the host model).
[[nodiscard]] GraphPrices PriceGraph(const trace::Trace& graph, const hardware::Gpu& gpu,
                                     const kernel::CostModel& costs, const HostModel& host);

/// Takes the kernels from the recording that the graph was linked with (trace/graph_link.h).
[[nodiscard]] GraphPrices RecordedPrices(const trace::Trace& linked);

/// The name under which a host model knows how often an operator launches: "embeddingbag bwd".
[[nodiscard]] std::string LaunchesName(const kernel::Operator& op);

/// Adds how many kernels operators launched when they were measured: the median of each kind from
/// the columns "operator" and "kernels" of a table of `orrery measure kernels`. Returns how many
/// rows name an operator that is not known here; they are left out.
[[nodiscard]] Result<std::int64_t> AddMeasuredLaunches(const Table& measured, HostModel& model);

}  // namespace orrery::workload
