#pragma once

#include <cstdint>
#include <vector>

#include "orrery/trace/trace.h"
#include "orrery/workload/program.h"

namespace orrery::workload {

/// What a moment of a recorded step belongs to.
struct PhaseAt {
  Phase phase = Phase::kOther;
  std::int32_t microbatch = -1;  // counted in each phase; none of the optimizer

  bool operator==(const PhaseAt&) const = default;
};

/// The ranges `forward`, `backward` and `optimizer` that a tracer puts around the parts of a step.
/// They hold for all threads: the kernels of a backward pass are launched by another one than that
/// which opened the range.
class PhaseRanges {
 public:
  /// Those that begin from `begin_ns` to before `end_ns`.
  PhaseRanges(const trace::Trace& recording, std::int64_t begin_ns, std::int64_t end_ns);

  /// Of ranges inside of each other the inner one counts.
  [[nodiscard]] PhaseAt At(std::int64_t at_ns) const;

  [[nodiscard]] bool empty() const { return ranges_.empty(); }

 private:
  struct Range {
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    PhaseAt phase;
  };

  std::vector<Range> ranges_;  // in order of begin
};

}  // namespace orrery::workload
