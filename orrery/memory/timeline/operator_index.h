#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "orrery/trace/trace.h"

namespace orrery::memory::timeline {

/// What runs above the operators of the framework.
enum class Phase : std::uint8_t { kForward, kBackward, kOptimizer };

/// Finds operators by time.
class OperatorIndex {
 public:
  explicit OperatorIndex(const trace::Trace& trace);

  /// The innermost operator of a host thread that runs at a time; kNoRow: none.
  [[nodiscard]] RowId InnermostAt(RowId track, std::int64_t time_ns) const;

  /// Operators that no other called, in order of begin.
  [[nodiscard]] const std::vector<RowId>& outermost() const { return outermost_; }

  /// The place in `outermost` of the last one that began by then; -1: none yet.
  [[nodiscard]] std::int64_t OutermostAt(std::int64_t time_ns) const;

  /// The operator without a caller above `host_op`.
  [[nodiscard]] RowId RootOf(RowId host_op) const;

  /// By the names of the operator, its callers and the ranges around them.
  [[nodiscard]] Phase PhaseOf(RowId host_op) const;

  [[nodiscard]] std::int64_t EndOf(RowId host_op) const {
    return trace_->host_ops.begin_ns[host_op] + trace_->host_ops.duration_ns[host_op];
  }

 private:
  const trace::Trace* trace_;
  std::vector<std::vector<RowId>> rows_of_track_;
  std::vector<RowId> outermost_;
};

}  // namespace orrery::memory::timeline
