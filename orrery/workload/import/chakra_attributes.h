#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "orrery/collective/request.h"

/// Attributes of nodes that are read and written.
namespace orrery::workload::chakra {

// As ASTRA-sim reads them.
inline constexpr std::string_view kIsCpuOp = "is_cpu_op";
inline constexpr std::string_view kCommType = "comm_type";
inline constexpr std::string_view kCommSize = "comm_size";
inline constexpr std::string_view kCommSource = "comm_src";
inline constexpr std::string_view kCommTarget = "comm_dst";
inline constexpr std::string_view kCommTag = "comm_tag";
inline constexpr std::string_view kGroupName = "pg_name";
inline constexpr std::string_view kThread = "tid";

// Our own, for what Chakra has no words for.
inline constexpr std::string_view kDurationPs = "orrery_duration_ps";
inline constexpr std::string_view kKind = "orrery_kind";
inline constexpr std::string_view kLagsPs = "orrery_lags_ps";
inline constexpr std::string_view kLaunch = "orrery_launch";
inline constexpr std::string_view kLaunchLatencyPs = "orrery_launch_latency_ps";
inline constexpr std::string_view kLaneGapPs = "orrery_lane_gap_ps";
inline constexpr std::string_view kElement = "orrery_element";
inline constexpr std::string_view kMicrobatch = "orrery_microbatch";
inline constexpr std::string_view kCategory = "orrery_category";
inline constexpr std::string_view kPart = "orrery_part";  // phase, chunk, shares, operator

/// The numbers of "comm_type"; those that are not here have no kind of ours.
inline constexpr std::array<std::pair<std::int64_t, collective::CollectiveKind>, 8>
    kCollectiveKinds = {{{0, collective::CollectiveKind::kAllReduce},
                         {1, collective::CollectiveKind::kReduce},
                         {2, collective::CollectiveKind::kAllGather},
                         {5, collective::CollectiveKind::kBroadcast},
                         {6, collective::CollectiveKind::kAllToAll},
                         {7, collective::CollectiveKind::kReduceScatter},
                         {8, collective::CollectiveKind::kReduceScatter},
                         {9, collective::CollectiveKind::kBarrier}}};

}  // namespace orrery::workload::chakra
