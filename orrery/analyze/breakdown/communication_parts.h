#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "orrery/analyze/breakdown/time_parts.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/columns.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/tables.h"

namespace orrery::analyze {

enum class Dimension : std::uint8_t {
  kTensor,
  kData,
  kPipeline,
  kContext,
  kExpert,
  kJoint,  // a group over several dimensions
  kUnknown,
};

inline constexpr int kNumDimensions = 7;

[[nodiscard]] std::string_view DimensionName(Dimension dimension);

enum class DimensionRule : std::uint8_t { kDescription, kRankPattern, kOperation, kNone };

[[nodiscard]] std::string_view DimensionRuleName(DimensionRule rule);

struct DimensionOf {
  Dimension dimension = Dimension::kUnknown;
  DimensionRule rule = DimensionRule::kNone;
};

/// Returns the dimension of each collective of a rank: from the group's description, else from its
/// ranks and the card, else from the kind of operation.
[[nodiscard]] std::vector<DimensionOf> CollectiveDimensions(const RunView& run,
                                                            std::uint32_t rank_index);

/// Returns whether the card or a group says that the model is spread over pipeline stages.
[[nodiscard]] bool HasPipeline(const RunView& run);

/// One communication kernel of a device, split into waiting and transfer.
struct CommunicationPart {
  Interval time;               // clipped to the selected steps
  std::int64_t useful_ns = 0;  // when waiting ended; the begin when it is not known
  /// Until when it waited for the drain of its pipeline in a group that spans stages, at most
  /// `useful_ns`: DrainWaits.
  std::int64_t drained_ns = 0;
  Dimension dimension = Dimension::kUnknown;
  std::uint32_t group = kNoGroup;  // MatchedCollectives::groups
  bool is_matched = false;

  static constexpr std::uint32_t kNoGroup = 0xFFFFFFFF;
};

[[nodiscard]] std::vector<CommunicationPart> CommunicationParts(const RunView& run,
                                                                const DeviceView& device);

/// The selected time of a device: compute, transfer, waiting and memory, which exclude each other;
/// what is in none of them is idle. Communication without a certain match counts as transfer: it
/// may contain waiting.
[[nodiscard]] std::vector<TimePart> TimeParts(const RunView& run, const DeviceView& device);

/// The division of exposed communication among parallel dimensions.
struct Exposure {
  std::int64_t busy_ns = 0;       // union of the dimension's kernels
  std::int64_t hidden_ns = 0;     // of that, under compute
  std::int64_t exclusive_ns = 0;  // exposed while no other dimension communicates
  double shared_ns = 0;           // exposed time, divided evenly among those who communicate
  double shared_wait_ns = 0;      // the same of the waiting parts
  double shared_transfer_ns = 0;
};

/// Splits the exposed communication of a device among `num_keys` keys (dimensions or groups);
/// `key_of` a part is below it. The shared times sum to the exposed time exactly.
[[nodiscard]] std::vector<Exposure> SplitExposure(const IntervalSet& compute,
                                                  const std::vector<CommunicationPart>& parts,
                                                  const std::vector<std::size_t>& key_of_part,
                                                  std::size_t num_keys);

/// Returns how many bytes cross the busiest link for each byte of the message, for a group of
/// `num_ranks`: 2(n-1)/n for an all-reduce, (n-1)/n where each rank keeps a part, else 1. Nothing
/// when the group's size matters and is not known.
[[nodiscard]] std::optional<double> BusFactor(CollectiveKind kind, std::int32_t num_ranks);

struct CollectiveRecord {
  CollectiveKind kind = CollectiveKind::kUnknown;
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

/// Returns true if a record is of a kind; send, receive and their fused form count as one.
[[nodiscard]] bool IsKind(CollectiveKind found, CollectiveKind kind);

/// Returns how many ranks take part in a collective of a rank: as its group says, else as many as
/// were matched, else all ranks; -1 when nothing says.
[[nodiscard]] std::int32_t NumParticipants(const RunView& run, std::uint32_t rank_index, RowId row);

/// Returns true if two collectives of a rank are calls that the same kernel executed.
[[nodiscard]] bool AreServedTogether(const trace::Collectives& table, RowId a, RowId b);

[[nodiscard]] std::int64_t NumSteps(const RunView& run);
[[nodiscard]] std::int64_t NumSteps(const DeviceView& device);

/// Calls `visit(row)` for each collective of the device's rank that ran on a device in a selected
/// step.
void ForEachCollective(const RunView& run, const DeviceView& device,
                       const std::function<void(RowId)>& visit);

/// Latency and time per byte of one step of a ring, from the all-reduces of a run.
struct HockneyFit {
  std::int32_t num_ranks = 0;
  std::size_t num_samples = 0;
  std::size_t num_sizes = 0;
  double alpha_s = 0;
  double beta_s_per_byte = 0;
};

/// Fits t / (2 (n - 1)) = alpha + beta * S / n by least squares over the all-reduces of the group
/// size with most records. Needs 5 of 2 sizes; else `reason` follows "n/a: ".
[[nodiscard]] std::optional<HockneyFit> FitHockney(const RunView& run, std::string& reason);

}  // namespace orrery::analyze
