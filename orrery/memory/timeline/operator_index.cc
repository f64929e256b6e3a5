#include "orrery/memory/timeline/operator_index.h"

#include <algorithm>
#include <string_view>

namespace orrery::memory::timeline {
namespace {


bool IsOptimizer(std::string_view name) {
  return name.starts_with("Optimizer.step") || name == "optimizer";
}

bool IsBackward(std::string_view name) {
  return name.starts_with("autograd::engine") || name.ends_with("Backward") ||
         name.ends_with("Backward0") || name.ends_with("Backward1") || name == "backward";
}

}  // namespace

OperatorIndex::OperatorIndex(const trace::Trace& trace)
    : trace_(&trace), rows_of_track_(trace.tracks.size()) {
  for (RowId row = 0; row < trace.host_ops.size(); ++row) {
    if (trace.host_ops.track[row] < rows_of_track_.size()) {
      rows_of_track_[trace.host_ops.track[row]].push_back(row);
    }
    if (trace.host_ops.parent[row] == kNoRow) {
      outermost_.push_back(row);
    }
  }
}

RowId OperatorIndex::InnermostAt(RowId track, std::int64_t time_ns) const {
  if (track >= rows_of_track_.size()) {
    return kNoRow;
  }
  const trace::HostOps& ops = trace_->host_ops;
  const std::vector<RowId>& rows = rows_of_track_[track];
  const auto after =
      std::upper_bound(rows.begin(), rows.end(), time_ns,
                       [&](std::int64_t time, RowId row) { return time < ops.begin_ns[row]; });
  RowId row = after == rows.begin() ? kNoRow : *(after - 1);
  while (row != kNoRow && EndOf(row) < time_ns) {
    row = ops.parent[row];
  }
  return row;
}

std::int64_t OperatorIndex::OutermostAt(std::int64_t time_ns) const {
  const auto after = std::upper_bound(
      outermost_.begin(), outermost_.end(), time_ns,
      [&](std::int64_t time, RowId row) { return time < trace_->host_ops.begin_ns[row]; });
  return after - outermost_.begin() - 1;
}

RowId OperatorIndex::RootOf(RowId host_op) const {
  while (trace_->host_ops.parent[host_op] != kNoRow) {
    host_op = trace_->host_ops.parent[host_op];
  }
  return host_op;
}

Phase OperatorIndex::PhaseOf(RowId host_op) const {
  const trace::HostOps& ops = trace_->host_ops;
  for (RowId row = host_op; row != kNoRow; row = ops.parent[row]) {
    if (IsOptimizer(trace_->Text(ops.name[row]))) {
      return Phase::kOptimizer;
    }
    if (ops.forward_op[row] != kNoRow || IsBackward(trace_->Text(ops.name[row]))) {
      return Phase::kBackward;
    }
  }
  const trace::Annotations& ranges = trace_->annotations;
  for (RowId row = ops.annotation[RootOf(host_op)]; row != kNoRow; row = ranges.parent[row]) {
    const std::string_view name = trace_->Text(ranges.name[row]);
    if (IsOptimizer(name)) {
      return Phase::kOptimizer;
    }
    if (IsBackward(name)) {
      return Phase::kBackward;
    }
  }
  return Phase::kForward;
}

}  // namespace orrery::memory::timeline
