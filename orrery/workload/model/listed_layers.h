#pragma once

#include <cstdint>

#include "orrery/base/error.h"
#include "orrery/kernel/operator.h"

namespace orrery::workload {

/// The operator of one sample for `samples` of them. Which size grows depends on the kind: the
/// batch, the rows, the elements; of a product the rows of the result, except in a weight's
/// gradient (layout tn), which sums over samples. Fails for kinds that have no such size.
[[nodiscard]] Result<kernel::Operator> ForSamples(const kernel::Operator& op, std::int64_t samples);

}  // namespace orrery::workload
