#pragma once

#include <span>
#include <string>

#include "orrery/base/error.h"
#include "orrery/overlap/pair_table.h"

namespace orrery::cli {

/// Reads tables of measured pairs; an error where none of the rows can be used.
[[nodiscard]] Result<overlap::PairTable> ReadOverlapPairs(std::span<const std::string> paths,
                                                          std::span<const std::string> counters);

/// Says which rows were not used; returns the exit status.
[[nodiscard]] int NoticeRejectedPairs(const overlap::PairTable& data);

}  // namespace orrery::cli
