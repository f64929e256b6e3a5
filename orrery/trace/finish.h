#pragma once

#include <string>

#include "orrery/trace/trace.h"

namespace orrery::trace {

struct FinishOptions {
  std::string step_marker;  // regular expression for step names; empty: the known markers
};

/// The last stage of every reader: puts rows into time order, then fills the link columns that
/// follow from ids and times (launch, parent, operator, synchronised call) and finds the steps.
/// Rows that cannot be linked are counted in `trace.problems`.
///
/// Row ids change when rows are sorted, so a reader sets links of its own afterwards.
void FinishTrace(Trace& trace, const FinishOptions& options = {});

/// The first half of FinishTrace: rows of every table in order of begin time, ties longer first,
/// then in the order they were appended.
void SortRows(Trace& trace);

}  // namespace orrery::trace
