#pragma once

#include <string_view>

#include "orrery/kernel/aten/call.h"
#include "orrery/kernel/aten/mapping.h"

namespace orrery::kernel {

/// An operator that reads its inputs and writes its outputs element by element. An operand with
/// another memory order than the result makes it strided; else a repeated one makes it broadcast.
/// Host scalars cost nothing.
[[nodiscard]] MappedOperators ElementwiseOperator(const AtenCall& call, std::string_view function);

}  // namespace orrery::kernel
