#pragma once

#include <array>
#include <map>
#include <optional>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/base/string_table.h"
#include "orrery/kernel/operator.h"
#include "orrery/trace/kernel_class.h"
#include "orrery/trace/trace.h"

namespace orrery::analyze {

/// The operators that the calls of a recorded rank ask for; found once for calls with the same
/// inputs.
class OperatorsOfCalls {
 public:
  explicit OperatorsOfCalls(const trace::Trace& trace) : trace_(trace) {}

  /// Empty where the call is not known, or where its work depends on what its tensors hold.
  const std::vector<kernel::Operator>& Of(RowId host_op);

  /// The call that a kernel works for: attention is understood by the operator around that of its
  /// implementation, which launches the kernel.
  [[nodiscard]] RowId CallOfKernel(RowId host_op, trace::KernelClass kernel_class);

 private:
  using Key = std::array<StringId, 5>;

  const trace::Trace& trace_;
  std::map<Key, std::vector<kernel::Operator>> known_;
};

/// The FLOPs of a call, and the bytes it has to move at least: each input is read and the output
/// written once.
struct OperatorWork {
  double flops = 0;
  double bytes = 0;
  DataType type = DataType::kUnknown;  // of the first operator

  bool operator==(const OperatorWork&) const = default;
};

/// The work of the operators of one call. Nothing where there are none, and where one computes both
/// gradients of a convolution, which several kernels share.
[[nodiscard]] std::optional<OperatorWork> WorkOfCall(
    const std::vector<kernel::Operator>& operators);

}  // namespace orrery::analyze
