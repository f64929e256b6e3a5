#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/estimate.h"
#include "orrery/kernel/operator.h"
#include "orrery/trace/trace.h"

namespace orrery::workload {

/// The estimate of a call by the kernel models.
struct ModelPrice {
  std::shared_ptr<const std::vector<kernel::Operator>> operators = {};
  double seconds = 0;           // predicted, of all its kernels
  double roofline_seconds = 0;  // the least by the GPU's data sheet
  double uncertainty = 0;       // relative, one standard deviation: of its operators the largest
  bool is_extrapolated = false;
  kernel::EstimateSource source = kernel::EstimateSource::kThisGpu;  // the worst of its operators

  /// Its operators: "gemm m=4096 …".
  [[nodiscard]] std::string Text() const;
};

/// A call beside the kernels that it launched. Equal calls, of which a recording has very many,
/// share what the models say.
struct OperatorPrice {
  RowId host_op = kNoRow;
  std::shared_ptr<const ModelPrice> model = {};
  std::int64_t recorded_ns = 0;  // its kernels together
  std::int64_t num_kernels = 0;
};

/// The prices of a recording's calls on the GPU that it was recorded on, with caches as after other
/// work. Calls that the models do not know have none.
class OperatorPrices {
 public:
  OperatorPrices() = default;
  OperatorPrices(const trace::Trace& recording, const hardware::Gpu& gpu,
                 const kernel::CostModel& costs);

  /// The call that launched an activity, or whose caller did; nullptr where it has no price.
  [[nodiscard]] const OperatorPrice* OfActivity(const trace::Trace& recording,
                                                RowId activity) const {
    const RowId op = recording.activities.host_op[activity];
    return op == kNoRow || of_operator_[op] == kNoRow ? nullptr : &prices_[of_operator_[op]];
  }

  [[nodiscard]] const std::vector<OperatorPrice>& prices() const { return prices_; }

 private:
  std::vector<OperatorPrice> prices_;
  std::vector<RowId> of_operator_;  // place in `prices_` of each of HostOps; kNoRow: none
};

}  // namespace orrery::workload
