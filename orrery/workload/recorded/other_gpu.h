#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/hardware/gpu.h"
#include "orrery/kernel/estimate.h"
#include "orrery/trace/trace.h"

namespace orrery::workload {

/// How the time of recorded work was scaled to another GPU.
enum class ScaledBy : std::uint8_t {
  kModels,  // its call, priced on both GPUs
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
