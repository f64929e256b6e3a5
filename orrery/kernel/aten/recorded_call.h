#pragma once

#include "orrery/base/columns.h"
#include "orrery/kernel/aten/aten.h"
#include "orrery/trace/trace.h"

namespace orrery::kernel {

// The name of a call is a text of the trace, which must outlive it.

/// Returns the call that a node of an execution trace records. What the writer could not describe
/// is none; strides are row major in files of schemas that do not have them.
[[nodiscard]] AtenCall CallOfNode(const trace::Trace& trace, RowId graph_node);

/// Returns the call that an operator of a profile records: without outputs, and with lists of
/// tensors whose type is not known. Numbers that were turned into tensors count as being on the
/// host, all other tensors as being on the GPU.
[[nodiscard]] AtenCall CallOfOperator(const trace::Trace& trace, RowId host_op);

}  // namespace orrery::kernel
