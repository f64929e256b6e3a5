#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/rejected_row.h"
#include "orrery/overlap/model.h"

namespace orrery::overlap {

enum class Mode : std::uint8_t {
  kSteady,   // continuous communication during repeated launches of the compute kernel
  kArrival,  // one launch of each, the second with an offset
};

/// Two kernels that were measured alone and together (docs/formats/overlap-pairs.md).
struct MeasuredPair {
  Pair pair = {};
  Machine machine = {};
  std::string gpu;
  std::string kernel;  // text of the operator; rows are held out by it
  std::string name;    // of the kernel that ran
  Mode mode = Mode::kSteady;
  bool compute_is_first = false;
  double offset_us = 0;     // of the second launch after the first
  double alone_spread = 0;  // relative, between the quartiles
  double together_us = 0;
  double together_spread = 0;                // relative, between the quartiles
  int repeats = 0;                           // behind together_us
  double communication_alone_us = kUnknown;  // of an arrival, from its first block to its end
  double communication_together_us = kUnknown;
  double communication_together_gbps = 0;
  double compute_delay_us = 0;
  double communication_delay_us = kUnknown;  // until its last block started
  std::uint32_t file = 0;
  std::uint32_t line = 0;
};

/// The overlap of a row; nothing in steady state.
[[nodiscard]] std::optional<KernelOverlap> KernelOverlapOf(const MeasuredPair& row);

struct PairTable {
  std::vector<std::string> files;
  std::vector<MeasuredPair> rows;
  std::vector<RejectedRow> rejected;
};

/// Reads tables of `orrery measure overlap` (compressed or not). Rows with a rejection reason, of a
/// GPU that is not in the catalogue, or without a time are rejected by file and line. `counters`
/// names tables of counters (features/counters.csv), joined by operator and kernel.
[[nodiscard]] Result<PairTable> ReadPairs(std::span<const std::string> paths,
                                          std::span<const std::string> counters = {});

}  // namespace orrery::overlap
