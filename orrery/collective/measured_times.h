#pragma once

#include <span>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/collective/request.h"

namespace orrery::collective {

/// One measured collective on one machine.
struct MeasuredTime {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  int gpus = 0;
  Bytes size;
  double seconds = 0;
};

/// What was measured on one machine, to be looked up: between two sizes of the same collective on
/// as many GPUs times lie on a line in logarithms; nothing is said beyond them.
class MeasuredTimes {
 public:
  /// Several rows of one size count as their geometric mean. Fails for a row without GPUs, bytes or
  /// seconds.
  [[nodiscard]] static Result<MeasuredTimes> Create(std::span<const MeasuredTime> rows);

  /// Fails with one sentence that says what is measured. O(log rows).
  [[nodiscard]] Result<double> Seconds(CollectiveKind kind, int gpus, Bytes size) const;

 private:
  [[nodiscard]] std::span<const MeasuredTime> RowsOf(CollectiveKind kind, int gpus) const;
  [[nodiscard]] tl::unexpected<Error> NotMeasured(CollectiveKind kind, int gpus) const;

  std::vector<MeasuredTime> rows_;  // in order of kind, GPUs and size
};

}  // namespace orrery::collective
