#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/table.h"

namespace orrery::compat::echo {

/// What Echo's model sees, in its order: columns of the merged table.
inline constexpr std::array<std::string_view, 8> kFeatures = {
    "ground_truth",       "Compute throughput", "Memory throughput", "DRAM throughput",
    "Achieved occupancy", "Maximum occupancy",  "L1 hit rate",       "L2 hit rate"};

using Features = std::array<double, kFeatures.size()>;

/// A kernel of Echo's merged table.
struct EchoRow {
  std::int64_t id = 0;
  std::string name;          // short
  double alone_ns = 0;       // `ground_truth`
  double together_ns = 0;    // `duration`
  double overlap_ratio = 0;  // part of `together_ns` with communication beside it
  double slowdown = 0;       // (together - alone) / (ratio · alone), 0 without overlap
  Features features = {};

  [[nodiscard]] bool IsOverlapped() const { return overlap_ratio != 0; }
};

/// Takes the rows of merged_features.csv, in their order. Fails on a missing column or value, and
/// on a time that is not above 0, by line.
[[nodiscard]] Result<std::vector<EchoRow>> ReadEchoRows(const Table& table);

/// Rows whose two times are of two clocks: the GPU's clock changed in the run together at the first
/// of them and in the run alone at the last.
struct ClockStep {
  std::int64_t first_id = 0;
  std::int64_t last_id = -1;  // below the first: there is none

  [[nodiscard]] bool Spoils(const EchoRow& row) const {
    return row.id >= first_id && row.id <= last_id;
  }
};

/// The step of Echo's public table, rows 241 to 267. None where kernels in those rows that do not
/// overlap take the same time in both runs (within 2 % in the median): a table of somebody else.
[[nodiscard]] ClockStep PublicClockStep(std::span<const EchoRow> rows);

}  // namespace orrery::compat::echo
