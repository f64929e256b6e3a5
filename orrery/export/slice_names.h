#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "orrery/base/string_table.h"
#include "orrery/export/rank_layout.h"
#include "orrery/trace/trace.h"

namespace orrery::exporting {

/// Returns the rank of a trace, or its position where the trace does not know it.
[[nodiscard]] std::int64_t RankNumber(const trace::Trace& trace, std::size_t rank_index);

/// Returns the title of a track: "stream 7", "thread 598 (pt_autograd_0)".
[[nodiscard]] std::string TrackTitle(const trace::Trace& trace, RowId drawn_track);

/// Returns the title of a lane: that of its track, and the lane's number from the second on.
[[nodiscard]] std::string LaneTitle(std::string_view track_title, Lane lane);

/// Returns the name of the counter of an allocator's memory: "orrery memory of GPU 0". Our reader
/// recognizes it by its prefix and derives the counter again.
[[nodiscard]] std::string MemoryCounterName(const trace::Trace& trace, RowId memory_event);

/// The names of slices, and the categories that Kineto gives them.
class SliceNames {
 public:
  explicit SliceNames(const trace::Trace& trace);

  /// Not for waits, whose name is not a string of the trace.
  [[nodiscard]] StringId Name(const PlacedSlice& slice) const;

  [[nodiscard]] std::string_view Category(const PlacedSlice& slice) const;

  /// Returns the collective whose arguments an operator carries, or kNoRow. PyTorch puts them on
  /// the operator record_param_comms and nowhere else.
  [[nodiscard]] RowId CollectiveOfOp(RowId host_op) const {
    return trace_.host_ops.name[host_op] == carrier_ ? trace_.host_ops.collective[host_op] : kNoRow;
  }

 private:
  const trace::Trace& trace_;
  StringId carrier_;
};

}  // namespace orrery::exporting
