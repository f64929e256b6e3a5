#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "orrery/base/error.h"
#include "orrery/trace/problems.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/import/chakra_trace.h"

namespace orrery::workload {

/// The role of communication that names no group.
inline constexpr std::string_view kChakraAllRanks = "all";

/// The group of two ranks that communication messages of a tag.
struct ChakraMessagePair {
  Rank from = 0;
  Rank to = 0;
  std::int64_t tag = 0;

  auto operator<=>(const ChakraMessagePair&) const = default;
};

/// One rank's program, and what the ensemble has to know of its roles.
struct ChakraRank {
  Program program;
  std::map<std::string, ChakraMessagePair> pair_of_role;
};

/// Makes the program of one rank. All-gathers count what a rank gives, as in the trace.
[[nodiscard]] Result<ChakraRank> RankOfChakra(const ChakraTrace& trace, Rank rank,
                                              trace::ProblemLog& problems);

}  // namespace orrery::workload
