#pragma once

#include "orrery/api/predict/trace_answer.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/recorded/host/host_model.h"
#include "orrery/workload/recorded/recorded.h"

// Sentences about what the prediction of one rank assumes or leaves out.

namespace orrery::api {

/// Hooks of activation checkpointing run in Python, inside operators, where they cannot be told
/// from the profiler.
void NoteRecomputation(const workload::HostModel& host, Prediction& prediction);

/// A data loader is a wait that is no work: a recording has it, an execution trace does not.
void NoteLoader(const trace::Trace& rank, const workload::RecordedProgram& recorded,
                Prediction& prediction);

/// A loader that kept up with the recorded steps, which a profiler makes longer, may be too slow
/// for the step without it.
void NoteUnseenLoader(const trace::Trace& rank, const workload::RecordedProgram& recorded,
                      Prediction& prediction);

/// Notes the gaps in a program of one rank.
void NoteGaps(const trace::Trace& rank, const workload::RecordedProgram& recorded,
              Prediction& prediction);

}  // namespace orrery::api
