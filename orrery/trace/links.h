#pragma once

#include "orrery/trace/trace.h"

namespace orrery::trace {

// The links inside one rank that follow from ids and times. All expect sorted tables.

/// Nests operators, annotations and runtime calls of each thread by time: `parent`, `annotation`,
/// and the operator around each runtime call. Slices that overlap without nesting are counted.
void LinkNesting(Trace& trace);

/// Operators by external id for runtime calls, where the file's external ids name operators.
void LinkCallsToOperators(Trace& trace);

/// Activities to the call that launched them, by correlation, and so to their operator. A graph
/// launch has many activities; an id that was used again goes to the nearest call before.
void LinkLaunches(Trace& trace);

/// Synchronisation rows to their call, device annotations to their host range, python calls to
/// their caller.
void LinkByIds(Trace& trace);

/// Backward operators to their forward operator by sequence number, where no link is set yet.
void LinkForwardOperators(Trace& trace);

}  // namespace orrery::trace
