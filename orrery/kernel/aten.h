#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "orrery/kernel/aten/call.h"
#include "orrery/kernel/operator.h"

namespace orrery::kernel {

/// The result of translating a call.
enum class AtenMeaning : std::uint8_t {
  kPriced,    // its operators are known
  kNoKernel,  // a view, an allocation, host work or communication
  kUnknown,   // modelled as one element-wise operator over its tensors, and counted
};

/// The operators of a framework call, including all nested calls: nothing below a priced call is
/// priced. Calls that are not priced are searched for nested calls.
struct AtenOperators {
  AtenMeaning meaning = AtenMeaning::kNoKernel;
  std::vector<Operator> operators;
  bool only_passes_on = false;  // priced, but nested calls are more precise if recorded
};

/// Translates a call by the name of its operator (aten/mapping.h lists the families). Layouts
/// follow from strides; fp32 GEMMs are true fp32 and fp32 convolutions tf32, the framework's
/// defaults, unless the call specifies otherwise. Operators without elements are omitted.
[[nodiscard]] AtenOperators OperatorsOf(const AtenCall& call);

}  // namespace orrery::kernel
