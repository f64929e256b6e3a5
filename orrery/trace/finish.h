#pragma once

#include "orrery/base/error.h"
#include "orrery/trace/trace.h"

namespace orrery::trace {

/// Fills `trace.steps` from step markers: PyTorch's ProfilerStep#, vLLM's execute ranges, SGLang's
/// run_batch, NVTX ranges of Megatron and NeMo, XLA's line of steps and markers; or from names that
/// match `marker` (a regular expression) if it is not empty. The first family that occurs decides.
void FindSteps(Trace& trace, const std::string& marker);

/// Checks that `marker` is a regular expression.
[[nodiscard]] Status CheckStepMarker(const std::string& marker);

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
