#include "orrery/workload/generate/memory_writer.h"

#include "orrery/workload/plan/memory_constants.h"
#include "orrery/workload/plan/state_memory.h"

namespace orrery::workload {
namespace {

constexpr std::string_view kRecomputed = "recomputed activations";
constexpr std::string_view kLogits = "logits";
constexpr std::string_view kWorking = "gradients of activations";

}  // namespace

void MemoryWriter::HoldStates(const Job& job, const StageTensors& stage) {
  const StateBytes states = StatesOf(stage.parameters(), job.plan, job.training);
  writer_.Hold("parameters", states.parameters + stage.frozen() * ParameterBytes(job.training));
  writer_.Hold("gradients", states.gradients);
  writer_.Hold("optimizer states", states.optimizer);
}

void MemoryWriter::HoldRest() {
  const MemoryConstants& constants = DefaultMemoryConstants();
  writer_.Hold("communication buffers", constants.communicator_bytes * writer_.NumCommunicators());
  writer_.Hold("CUDA context", constants.context_bytes);
}

void MemoryWriter::Forward(const UnitMemory& unit, bool recomputes, const PassTasks& tasks) {
  writer_.Take(tasks.first, unit.category, unit.Kept(recomputes));
  writer_.Take(tasks.first, kLogits, unit.logits + unit.logits_copy);
  writer_.GiveBack(tasks.last, kLogits, unit.logits_copy);
}

void MemoryWriter::Backward(const UnitMemory& unit, bool recomputes, bool puts_weights_off,
                            const PassTasks& tasks) {
  const std::int64_t kept = unit.Kept(recomputes);
  writer_.Take(tasks.first, kRecomputed, unit.whole - kept);
  writer_.Take(tasks.first, kWorking, unit.working);
  writer_.Take(tasks.first, kLogits, unit.logits_copy);
  writer_.GiveBack(tasks.last, kRecomputed, unit.whole - kept);
  writer_.GiveBack(tasks.last, kWorking, unit.working);
  writer_.GiveBack(tasks.last, kLogits, unit.logits + unit.logits_copy);
  // What gradients of weights need is there already, or takes the place of what is given back.
  writer_.GiveBack(tasks.last, unit.category, kept - (puts_weights_off ? unit.weight_inputs : 0));
}

void MemoryWriter::Weights(const UnitMemory& unit, const PassTasks& tasks) {
  writer_.GiveBack(tasks.last, unit.category, unit.weight_inputs);
}

}  // namespace orrery::workload
