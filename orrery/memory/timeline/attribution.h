#pragma once

#include <cstddef>

#include "orrery/memory/timeline/history.h"
#include "orrery/trace/trace.h"

namespace orrery::memory::timeline {

/// The phase of training that calls the framework's operators.
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

/// The code that allocated memory; empty: unknown.
struct Site {
  std::string operators;  // "aten::linear > aten::addmm", the outermost first
  std::string region;     // ranges of the program around them, the outermost first
  std::string frame;      // of the call stack, the innermost that is not the framework's own

  auto operator<=>(const Site&) const = default;
};

[[nodiscard]] Site SiteOf(const trace::Trace& trace, const Life& life);

/// Returns the one line that names a site: operators, else the frame, else the region or the name.
[[nodiscard]] std::string SiteText(const trace::Trace& trace, const Life& life);

/// Categories of memory as in PyTorch's memory timeline: the recorded name, else inferred from
/// operators. Memory that outlives its pass is optimizer state, gradient or activation by the phase
/// that allocates and frees it; other memory is temporary.
class Categories {
 public:
  explicit Categories(const trace::Trace& trace, const MemoryHistory& history);

  [[nodiscard]] std::string_view OfLife(std::uint32_t life) const { return of_life_[life]; }

  /// Of a change, with or without a life.
  [[nodiscard]] std::string_view Of(const Change& change) const;

 private:
  const trace::Trace* trace_;
  std::string_view without_name_;  // of changes that have neither a life nor a name
  std::vector<std::string_view> of_life_;
};

}  // namespace orrery::memory::timeline
