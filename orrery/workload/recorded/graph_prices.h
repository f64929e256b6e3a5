#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/text/table.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/estimate.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/recorded/call_tree.h"
#include "orrery/workload/recorded/host/host_model.h"
#include "orrery/workload/recorded/recorded.h"

namespace orrery::workload {

inline constexpr std::size_t kNumEstimateSources =
    static_cast<std::size_t>(kernel::EstimateSource::kRoofline) + 1;

/// The quality of the estimates of a graph's calls.
struct PricingSummary {
  std::int64_t calls = 0;
  std::int64_t unknown_calls = 0;  // estimated by the bytes of their tensors
  std::array<std::int64_t, kNumEstimateSources> operators = {};  // by kernel::EstimateSource
  std::int64_t extrapolated = 0;  // operators beyond the measured range
  double seconds = 0;             // of all calls
  double by_bytes_s = 0;          // of it: from the bytes and what was measured for the name
  double fp32_products_s = 0;     // of it: products that would be faster in TF32
  double unmodelled_s = 0;        // of it: from the bytes and the class of the name, or the roofline

  [[nodiscard]] double ByBytesShare() const { return seconds > 0 ? by_bytes_s / seconds : 0; }
  [[nodiscard]] double UnmodelledShare() const { return seconds > 0 ? unmodelled_s / seconds : 0; }

  void Add(const PricingSummary& other);
};

/// The GPU work of each node of an execution trace itself.
struct GraphPrices {
  std::vector<std::vector<DeviceTask>> tasks_of_node;
  PricingSummary summary;
  std::vector<std::string> unknown_names;  // each once, in order of first appearance
  std::vector<std::string> measured_names;  // the same
};

/// Prices the calls of an execution trace; the summary is of one of its steps. An operator's time
/// is spread evenly over its launches: as many as the recorded operators below it make, and where
/// those are unknown, as many as the operator made when it was measured ("launches" of the host
/// model). No call says if fp32 products may run in TF32: kernels of a recording do, if the trace
/// has any, or the caller.
[[nodiscard]] GraphPrices PriceGraph(const trace::Trace& graph, const CallTree& step,
                                     const hardware::Gpu& gpu, const kernel::CostModel& costs,
                                     const HostModel& host, bool products_allow_tf32 = false);

/// The number of calls of compiled code in a step that replay a CUDA graph: an execution trace has
/// only the copies of their inputs, not their kernels.
[[nodiscard]] std::int64_t NumReplayedGraphs(const trace::Trace& graph, const CallTree& step,
                                             const GraphPrices& prices);

/// Takes the kernels from the recording that the graph was linked with (trace/graph_link.h).
[[nodiscard]] GraphPrices RecordedPrices(const trace::Trace& linked);

/// The name under which a host model knows how often an operator launches: "embeddingbag bwd".
[[nodiscard]] std::string LaunchesName(const kernel::Operator& op);

/// Adds how many kernels operators launched when they were measured: the median of each kind from
/// the columns "operator" and "kernels" of a table of `orrery measure kernels`. Returns how many
/// rows name an operator that is not known here; they are left out.
[[nodiscard]] Result<std::int64_t> AddMeasuredLaunches(const Table& measured, HostModel& model);

/// The way in which the time of recorded work was scaled to another GPU.
enum class ScaledBy : std::uint8_t {
  kModels,  // estimates of its call on both GPUs
  kBounds,  // the least times of its call on both GPUs, which run the same kernels
  kMemory,  // the bandwidths of their memories: what its call asks is not known
  kLinks,   // the bandwidths to the host or to other GPUs
};

inline constexpr std::size_t kNumScaledBy = static_cast<std::size_t>(ScaledBy::kLinks) + 1;

/// The work that was scaled in each way.
struct ScalingSummary {
  struct Share {
    std::int64_t activities = 0;
    std::int64_t from_ns = 0;
    std::int64_t to_ns = 0;
  };

  [[nodiscard]] double Seconds() const;

  /// Of the work whose call is not known to the models.
  [[nodiscard]] double UnmodelledSeconds() const;

  std::array<Share, kNumScaledBy> shares = {};  // by ScaledBy
  std::vector<std::string> unknown_names = {};  // calls the models do not know, each once
};

/// A sentence on work unknown to the models; empty if there is none.
[[nodiscard]] std::string RemarkOn(const ScalingSummary& summary);

/// Scales the times of recorded work from the GPU that was recorded to another one. Between GPUs of
/// one generation, which run the same kernels, by the ratio of the least times of its call
/// (kernel/bound.h): a kernel reaches the same share of what binds it. Else by what the models say
/// of its call on the other GPU over what they say on this one, within a factor of 3 of the ratio
/// of the least times. Begins stay, so that they tell the order, as do the host's times.
[[nodiscard]] ScalingSummary ScaleToGpu(const hardware::Gpu& from, const hardware::Gpu& to,
                                        const kernel::CostModel& costs, trace::Trace& recording);

}  // namespace orrery::workload
