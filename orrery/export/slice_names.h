#pragma once

#include <string_view>

#include "orrery/base/string_table.h"
#include "orrery/export/rank_layout.h"
#include "orrery/trace/trace.h"

namespace orrery::exporting {

/// What slices are called: their names, and the categories that Kineto gives them.
class SliceNames {
 public:
  explicit SliceNames(const trace::Trace& trace);

  /// Not for waits, whose name is no string of the trace.
  [[nodiscard]] StringId Name(const PlacedSlice& slice) const;

  [[nodiscard]] std::string_view Category(const PlacedSlice& slice) const;

  /// Returns the collective whose arguments an operator carries, or kNoRow. PyTorch puts them on
  /// the operator record_param_comms and nowhere else.
  [[nodiscard]] RowId CollectiveOfOp(RowId host_op) const {
    return trace_.host_ops.name[host_op] == carrier_ ? trace_.host_ops.collective[host_op]
                                                     : kNoRow;
  }

 private:
  const trace::Trace& trace_;
  StringId carrier_;
};

}  // namespace orrery::exporting
