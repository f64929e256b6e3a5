#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "orrery/analyze/run_view.h"
#include "orrery/base/columns.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/tables.h"

namespace orrery::analyze {

/// Returns how many bytes cross the busiest link for each byte of the message, for a group of
/// `num_ranks`: 2(n-1)/n for an all-reduce, (n-1)/n where each rank keeps a part, else 1. Nothing
/// when the group's size matters and is not known.
[[nodiscard]] std::optional<double> BusFactor(trace::CollectiveKind kind, std::int32_t num_ranks);

/// One collective of the selected steps.
struct CollectiveRecord {
  trace::CollectiveKind kind = trace::CollectiveKind::kUnknown;
  std::int32_t num_ranks = -1;
  std::int64_t bytes = -1;  // message size; -1: unknown
  std::int64_t begin_ns = 0;
  std::int64_t transfer_ns = 0;  // shortest duration of a member
  bool is_matched = false;       // else the duration of one rank, which may hold waiting
  std::size_t instance = 0;      // MatchedCollectives, when matched
  std::uint32_t rank_index = 0;  // of the first member
  RowId row = kNoRow;            // Collectives of that rank

  /// Returns the bus bandwidth in bytes per second, when size, group and duration are known.
  [[nodiscard]] std::optional<double> BusBandwidth() const;
  [[nodiscard]] std::optional<double> BusBytes() const;
};

/// Returns all collectives of the selected steps, by begin: the reliably matched ones, or, where no
/// rank has a counterpart, those of the chosen ranks.
[[nodiscard]] std::vector<CollectiveRecord> CollectiveRecords(const RunView& run);

/// Whether a record is of a kind; send, receive and their fused form count as one.
[[nodiscard]] bool IsKind(trace::CollectiveKind found, trace::CollectiveKind wanted);

/// Returns how many ranks take part in a collective of a rank: as its group says, else as many as
/// were matched, else all ranks; -1 when nothing says.
[[nodiscard]] std::int32_t NumParticipants(const RunView& run, std::uint32_t rank_index, RowId row);

/// Whether two collectives of a rank are calls that the same kernel served.
[[nodiscard]] bool AreServedTogether(const trace::Collectives& table, RowId a, RowId b);

/// How many steps are selected, at least 1.
[[nodiscard]] std::int64_t NumSteps(const RunView& run);
[[nodiscard]] std::int64_t NumSteps(const DeviceView& device);

/// Calls `visit(row)` for each collective of the device's rank that ran on a device in a selected
/// step.
void ForEachCollective(const RunView& run, const DeviceView& device,
                       const std::function<void(RowId)>& visit);

}  // namespace orrery::analyze
