#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "orrery/analyze/graph/launch_edges.h"
#include "orrery/analyze/graph/rank_part.h"
#include "orrery/base/string_table.h"
#include "orrery/trace/trace.h"

namespace orrery::analyze {

/// What a runtime call can wait for.
enum class Blocking : std::uint8_t {
  kNever,
  kAllStreams,  // cudaDeviceSynchronize, cudaFree
  kOneStream,   // cudaStreamSynchronize, cudaEventSynchronize
  kOwnCopy,     // copies: those to pageable memory return when they are done
};

/// Returns what a call of that name can wait for. `cudaEventQuery` never blocks.
[[nodiscard]] Blocking ClassifyBlockingCall(std::string_view name);

/// Classifies each name of a trace once.
class BlockingNames {
 public:
  explicit BlockingNames(const trace::Trace& trace)
      : trace_(trace), known_(trace.strings.size(), kUnknown) {}

  [[nodiscard]] Blocking Of(StringId name);

 private:
  static constexpr std::uint8_t kUnknown = 0xFF;

  const trace::Trace& trace_;
  std::vector<std::uint8_t> known_;
};

/// Adds for each call that waited an edge from the end of what it waited for to the end of the call
/// (E5), and one through the call (E6) in place of its host time. What was waited for comes from
/// synchronisation records; without one a call waited for what ended within 20 µs before its end.
/// Launches into a full queue wait as well (see FreedPlaceInQueue).
void AddBlockingCalls(RankPart& part, const std::vector<LaunchOrder>& orders);

}  // namespace orrery::analyze
