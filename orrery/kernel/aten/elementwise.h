#pragma once

#include <string_view>

#include "orrery/kernel/aten/call.h"
#include "orrery/kernel/aten/mapping.h"

namespace orrery::kernel {

/// An operator that reads its inputs and writes its outputs element by element. An operand that
/// lies in another order than the result makes it strided; else one that is repeated makes it
/// broadcast. Numbers on the host cost nothing.
[[nodiscard]] MappedOperators ElementwiseOperator(const AtenCall& call, std::string_view function);

}  // namespace orrery::kernel
