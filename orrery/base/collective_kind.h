#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace orrery {

/// Stored by number in trace files: append at the end, never reorder.
enum class CollectiveKind : std::uint8_t {
  kUnknown,
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast,
  kReduce,
  kGather,
  kScatter,
  kSend,
  kRecv,
  kSendRecv,  // a point-to-point kernel, or a message whose direction the group says
  kBarrier,
};

inline constexpr std::size_t kNumCollectiveKinds = 13;

/// Returns "all_reduce", "send", …: as spelled by nccl-tests and PyTorch.
constexpr std::string_view CollectiveKindName(CollectiveKind kind) {
  constexpr std::array<std::string_view, kNumCollectiveKinds> kNames = {
      "unknown", "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce",
      "gather",  "scatter",    "send",       "recv",           "send_recv",  "barrier"};
  return kNames[static_cast<std::size_t>(kind)];
}

/// Returns true for collectives that combine values of several ranks.
constexpr bool IsReduction(CollectiveKind kind) {
  return kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kReduceScatter ||
         kind == CollectiveKind::kReduce;
}

}  // namespace orrery
