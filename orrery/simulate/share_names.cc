#include "orrery/simulate/share_names.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/core.h>

namespace orrery::simulate {
namespace {

// The group of all ranks of a job, which sums up the norm of gradients.
constexpr std::string_view kAllRanks = "all";

}  // namespace

std::string ShareKey(const TimeShare& share) {
  switch (share.kind) {
    case TimeKind::kCompute:
    case TimeKind::kWait:
      return fmt::format("{}.{}", Name(share.kind), share.what);
    case TimeKind::kTransfer:
      return fmt::format("exposed.{}", share.what);
    case TimeKind::kOptimizer:
    case TimeKind::kBubble:
    case TimeKind::kHost:
    case TimeKind::kIdle:
      return std::string(Name(share.kind));
  }
  return "";
}

std::string ShareText(const TimeShare& share) {
  switch (share.kind) {
    case TimeKind::kCompute:
      return share.what;
    case TimeKind::kTransfer:
      return share.what == kAllRanks ? "norm of gradients, exposed"
                                     : fmt::format("{} communication, exposed", share.what);
    case TimeKind::kWait:
      return share.what == kAllRanks ? "waiting for all ranks at the end"
                                     : fmt::format("waiting for others in {}", share.what);
    case TimeKind::kBubble:
      return "pipeline bubble";
    case TimeKind::kHost:
      return "waiting for the host";
    case TimeKind::kIdle:
      return "between kernels";
    case TimeKind::kOptimizer:
      return "optimizer";
  }
  return "";
}

std::vector<TimeShare> LargestFirst(const Breakdown& breakdown) {
  std::vector<TimeShare> shares = breakdown.shares;
  std::ranges::stable_sort(shares, {},
                           [](const TimeShare& share) { return std::pair(share.kind, -share.ps); });
  return shares;
}

}  // namespace orrery::simulate
