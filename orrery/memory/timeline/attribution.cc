#include "orrery/memory/timeline/attribution.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/base/string_table.h"
#include "orrery/base/text/text.h"
#include "orrery/memory/timeline/history.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::memory::timeline {
namespace {

bool IsOptimizer(std::string_view name) {
  return name.starts_with("Optimizer.step") || name == "optimizer";
}

bool IsBackward(std::string_view name) {
  return name.starts_with("autograd::engine") || name.ends_with("Backward") ||
         name.ends_with("Backward0") || name.ends_with("Backward1") || name == "backward";
}

template <typename Table>
std::string PathOf(const trace::Trace& trace, const Table& table, RowId row) {
  std::vector<std::string_view> names;
  for (; row != kNoRow; row = table.parent[row]) {
    names.push_back(trace.Text(table.name[row]));
  }
  std::string path;
  for (std::size_t i = names.size(); i > 0; --i) {
    path += path.empty() ? "" : " > ";
    path += names[i - 1];
  }
  return path;
}

bool IsOfFramework(std::string_view frame) {
  constexpr std::array<std::string_view, 5> kMarks = {
      "/torch/", "torch::", "c10::", "at::", "CUDACachingAllocator"};
  return std::ranges::any_of(kMarks, [&](std::string_view mark) { return Contains(frame, mark); });
}

// Frames are lines, the innermost first.
std::string FrameOf(std::string_view stack) {
  std::string_view innermost;
  while (!stack.empty()) {
    const std::size_t end = stack.find('\n');
    std::string_view frame = stack.substr(0, end);
    frame.remove_prefix(std::min(frame.find_first_not_of(' '), frame.size()));
    if (innermost.empty()) {
      innermost = frame;
    }
    if (!frame.empty() && !IsOfFramework(frame)) {
      return std::string(frame);
    }
    stack.remove_prefix(end == std::string_view::npos ? stack.size() : end + 1);
  }
  return std::string(innermost);
}

constexpr std::string_view kBefore = "held before the recording";
constexpr std::string_view kUnknown = "unknown";
constexpr std::string_view kTemporary = "temporary";

class Rules {
 public:
  explicit Rules(const trace::Trace& trace) : operators_(trace) {
    std::int64_t pass = 0;
    for (const RowId row : operators_.outermost()) {
      const Phase phase = operators_.PhaseOf(row);
      pass += !phase_of_outermost_.empty() && phase_of_outermost_.back() != phase ? 1 : 0;
      phase_of_outermost_.push_back(phase);
      pass_of_outermost_.push_back(pass);
    }
  }

  [[nodiscard]] std::string_view Infer(const Life& life) const {
    if (life.host_op == kNoRow) {
      return kUnknown;
    }
    if (life.end_ns <= operators_.EndOf(operators_.RootOf(life.host_op))) {
      return kTemporary;
    }
    const bool is_freed = life.end_ns != kNeverNs;
    if (is_freed && PassAt(life.begin_ns) == PassAt(life.end_ns)) {
      return kTemporary;
    }
    const Phase born = operators_.PhaseOf(life.host_op);
    if (born != Phase::kForward) {
      return born == Phase::kOptimizer ? "optimizer state" : "gradient";
    }
    return is_freed && PhaseAt(life.end_ns) == Phase::kBackward ? "activation" : kUnknown;
  }

 private:
  [[nodiscard]] Phase PhaseAt(std::int64_t time_ns) const {
    const std::int64_t place = operators_.OutermostAt(time_ns);
    return place < 0 ? Phase::kForward : phase_of_outermost_[static_cast<std::size_t>(place)];
  }

  // A pass is a run of outermost operators of one phase.
  [[nodiscard]] std::int64_t PassAt(std::int64_t time_ns) const {
    const std::int64_t place = operators_.OutermostAt(time_ns);
    return place < 0 ? -1 : pass_of_outermost_[static_cast<std::size_t>(place)];
  }

  OperatorIndex operators_;
  std::vector<Phase> phase_of_outermost_;
  std::vector<std::int64_t> pass_of_outermost_;
};

// Old profilers wrote events without addresses: it is unknown what they free.
bool HasNamelessEvents(const trace::Trace& trace) {
  for (RowId row = 0; row < trace.memory_events.size(); ++row) {
    const std::string_view name = trace.Text(trace.memory_events.name[row]);
    if (trace.memory_events.address[row] == 0 && (name.empty() || name.starts_with('['))) {
      return true;
    }
  }
  return false;
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
      std::ranges::upper_bound(rows, time_ns, {}, [&](RowId row) { return ops.begin_ns[row]; });
  RowId row = after == rows.begin() ? kNoRow : *(after - 1);
  while (row != kNoRow && EndOf(row) < time_ns) {
    row = ops.parent[row];
  }
  return row;
}

std::int64_t OperatorIndex::OutermostAt(std::int64_t time_ns) const {
  const auto after = std::ranges::upper_bound(
      outermost_, time_ns, {}, [&](RowId row) { return trace_->host_ops.begin_ns[row]; });
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

Site SiteOf(const trace::Trace& trace, const Life& life) {
  Site site{.operators = {}, .region = {}, .frame = FrameOf(trace.Text(life.call_stack))};
  if (life.host_op != kNoRow) {
    site.operators = PathOf(trace, trace.host_ops, life.host_op);
    RowId outermost = life.host_op;
    while (trace.host_ops.parent[outermost] != kNoRow) {
      outermost = trace.host_ops.parent[outermost];
    }
    site.region = PathOf(trace, trace.annotations, trace.host_ops.annotation[outermost]);
  }
  return site;
}

std::string SiteText(const trace::Trace& trace, const Life& life) {
  const Site site = SiteOf(trace, life);
  if (!site.operators.empty()) {
    return site.operators;
  }
  if (!site.frame.empty()) {
    return site.frame;
  }
  if (life.name != StringId::kEmpty) {
    return std::string(trace.Text(life.name));
  }
  return life.is_from_before ? "before the recording" : "not known";
}

Categories::Categories(const trace::Trace& trace, const MemoryHistory& history)
    : trace_(&trace),
      without_name_(trace.memory_objects.empty() && HasNamelessEvents(trace) ? kUnknown : kBefore) {
  const Rules rules(trace);
  for (const Life& life : history.lives) {
    if (life.is_from_before) {
      of_life_.push_back(kBefore);
    } else if (life.object == kNoRow && life.name != StringId::kEmpty) {
      of_life_.push_back(trace.Text(life.name));
    } else {
      of_life_.push_back(rules.Infer(life));
    }
  }
}

std::string_view Categories::Of(const Change& change) const {
  if (change.life != kNoLife) {
    return of_life_[change.life];
  }
  return change.name == StringId::kEmpty ? without_name_ : trace_->Text(change.name);
}

}  // namespace orrery::memory::timeline
