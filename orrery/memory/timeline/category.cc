#include "orrery/memory/timeline/category.h"

#include "orrery/memory/timeline/operator_index.h"

namespace orrery::memory::timeline {
namespace {


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
    const Phase born = operators_.PhaseOf(life.host_op);
    const bool dies_in_phase = life.end_ns != kNeverNs && IsSamePass(life.begin_ns, life.end_ns);
    if (dies_in_phase) {
      return kTemporary;
    }
    switch (born) {
      case Phase::kOptimizer:
        return "optimizer state";
      case Phase::kBackward:
        return "gradient";
      case Phase::kForward:
        break;
    }
    return life.end_ns != kNeverNs && PhaseAt(life.end_ns) == Phase::kBackward ? "activation"
                                                                               : kUnknown;
  }

 private:
  [[nodiscard]] Phase PhaseAt(std::int64_t time_ns) const {
    const std::int64_t place = operators_.OutermostAt(time_ns);
    return place < 0 ? Phase::kForward : phase_of_outermost_[static_cast<std::size_t>(place)];
  }

  // A pass is a run of outermost operators of one phase.
  [[nodiscard]] bool IsSamePass(std::int64_t begin_ns, std::int64_t end_ns) const {
    return PassAt(begin_ns) == PassAt(end_ns);
  }

  [[nodiscard]] std::int64_t PassAt(std::int64_t time_ns) const {
    const std::int64_t place = operators_.OutermostAt(time_ns);
    return place < 0 ? -1 : pass_of_outermost_[static_cast<std::size_t>(place)];
  }

  OperatorIndex operators_;
  std::vector<Phase> phase_of_outermost_;
  std::vector<std::int64_t> pass_of_outermost_;
};

// Old profilers wrote events without addresses: what they free cannot be told.
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
