#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "orrery/kernel/aten/call.h"
#include "orrery/kernel/operator.h"

namespace orrery::kernel {

/// How well a call is understood.
enum class AtenMeaning : std::uint8_t {
  kPriced,    // its operators say what it asks of the GPU
  kNoKernel,  // a view, an allocation, work on the host, communication: nothing to price here
  kUnknown,   // one element-wise operator moves its tensors; say so, and count it
};

/// What a call of the framework asks of the GPU, with all that it calls itself: below a priced call
/// there is nothing left to price. Calls that are not priced are walked into.
struct AtenOperators {
  AtenMeaning meaning = AtenMeaning::kNoKernel;
  std::vector<Operator> operators;
  bool only_passes_on = false;  // priced, but calls below it say more where they are recorded
};

/// Translates a call by the name of its operator (aten/mapping.h has the families). Layouts come
/// from strides; fp32 products are true fp32 and fp32 convolutions tf32, as the framework has it,
/// unless the call says otherwise. Operators of no elements are left out.
[[nodiscard]] AtenOperators OperatorsOf(const AtenCall& call);

}  // namespace orrery::kernel
