#pragma once

#include <cstdint>

#include "orrery/workload/generate/program_writer.h"
#include "orrery/workload/generate/stage_units.h"
#include "orrery/workload/generate/unit_memory.h"
#include "orrery/workload/job/job.h"

namespace orrery::workload {

/// Writes what passes take of memory into a program and what they give back.
class MemoryWriter {
 public:
  explicit MemoryWriter(ProgramWriter& writer) : writer_(writer) {}

  /// States of the parameters, buffers of communication, CUDA's own: all the time.
  void HoldStates(const Job& job, const StageTensors& stage);

  /// To be called when the program is written: its communicators are known then.
  void HoldRest();

  void Forward(const UnitMemory& unit, bool recomputes, const PassTasks& tasks);

  /// `puts_weights_off`: the gradients of weights come later, in a Weights().
  void Backward(const UnitMemory& unit, bool recomputes, bool puts_weights_off,
                const PassTasks& tasks);

  void Weights(const UnitMemory& unit, const PassTasks& tasks);

 private:
  ProgramWriter& writer_;
};

}  // namespace orrery::workload
