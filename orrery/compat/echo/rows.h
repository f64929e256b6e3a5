#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/text/table.h"

namespace orrery::compat::echo {

/// The inputs of Echo's model in its order: columns of the merged table.
inline constexpr std::array<std::string_view, 8> kFeatures = {
    "ground_truth",       "Compute throughput", "Memory throughput", "DRAM throughput",
    "Achieved occupancy", "Maximum occupancy",  "L1 hit rate",       "L2 hit rate"};

using Features = std::array<double, kFeatures.size()>;

struct KernelRow {
  std::int64_t id = 0;
  std::string name;          // short
  double alone_ns = 0;       // `ground_truth`
  double together_ns = 0;    // `duration`
  double overlap_ratio = 0;  // share of `together_ns` concurrent with communication
  double slowdown = 0;       // (together - alone) / (ratio · alone), 0 without overlap
  Features features = {};

  [[nodiscard]] bool IsOverlapped() const { return overlap_ratio != 0; }
};

/// Reads the rows of merged_features.csv. Fails on a missing column or value and on a time that is
/// not above 0, naming the row.
[[nodiscard]] Result<std::vector<KernelRow>> ReadRows(const Table& table);

/// Rows whose two times were measured at different GPU clocks: the clock changed at the first of
/// them in the run with communication and at the last in the run without.
struct ClockStep {
  std::int64_t first_id = 0;
  std::int64_t last_id = -1;  // below the first: none

  [[nodiscard]] bool Affects(const KernelRow& row) const {
    return row.id >= first_id && row.id <= last_id;
  }
};

/// Returns the step of Echo's public table, rows 241 to 267. None if the kernels of those rows that
/// do not overlap take the same time in both runs (median within 2 %): another table.
[[nodiscard]] ClockStep PublicClockStep(std::span<const KernelRow> rows);

/// The position of a kernel in the pass, from overlap ratios and times without communication only,
/// never from a measured slowdown. A span is a sequence of rows that overlap communication.
struct Position {
  std::uint32_t segment = 0;       // counts up where communication begins
  std::uint32_t rows_of_span = 0;  // rows that overlap in the span; 0 outside
  std::uint32_t whole_so_far = 0;  // consecutive rows up to this one that overlap all the time
  double span_ns = 0;              // overlapped time of the span, as if alone
  double since_ns = 0;             // … before this row
};

/// Long communication mostly waits for its peer and uses little of the GPU, short communication
/// moves data, and the first kernels of a span run concurrently with its start. So the position
/// carries information that the ratios do not.
[[nodiscard]] std::vector<Position> PositionsOf(std::span<const KernelRow> rows);

}  // namespace orrery::compat::echo
