#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "orrery/ingest/nsys/export_context.h"
#include "orrery/ingest/nsys/nvtx_payload.h"
#include "orrery/ingest/nsys/rank_builder.h"

namespace orrery::ingest::nsys {

inline constexpr std::string_view kNcclDomain = "NCCL";

/// NCCL marks its calls in a domain of its own; the row that names the domain may be missing, the
/// names of the calls are not.
[[nodiscard]] bool IsNcclRange(std::int64_t domain, std::string_view name);

/// Keeps a range of NCCL for the collectives: a call that moves data, the bounds of a group, or the
/// creation of a communicator.
void AddNcclRange(RankBuilder& rank, std::string_view name, RowId track,
                  const Interval& time, const std::optional<std::vector<PayloadValue>>& payload);

}  // namespace orrery::ingest::nsys
