#pragma once

#include <memory>
#include <string>

#include "orrery/api/simulate.h"
#include "orrery/api/simulate/answer.h"
#include "orrery/base/error.h"
#include "orrery/kernel/estimate.h"
#include "orrery/simulate/explain/summary.h"
#include "orrery/simulate/scenario.h"
#include "orrery/simulate/simulation.h"
#include "orrery/trace/trace_set.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/job_file.h"

namespace orrery::api {

/// A simulated step with everything it points into.
struct SimulatedRun {
  workload::Job job;  // or the machine on which the program of another tool ran
  bool has_job = true;
  workload::Ensemble ensemble = {};  // programs of another tool
  simulate::Simulation simulation = {};
  SimulationAnswer answer = {};
  trace::WorkloadCard card = {};
  bool has_pictures = false;

  [[nodiscard]] simulate::SimulatedStep step() const {
    return {&simulation.rank_classes, &simulation.timeline, has_job ? &job : nullptr};
  }
};

/// Parts of a step that are explained; each takes longer than the one before.
enum class Explanation : std::uint8_t {
  kStepOnly,  // step, throughput and memory
  kStep,      // and interval, breakdown and energy
  kNetwork,   // and what sharing the network costs
  kAdvice,    // and changes that are simulated
};

/// Simulates a job under a scenario and explains the result: the one place where a step that people
/// see is composed. The interval, the breakdown and the limits of a job's step are the same in
/// every verb and front end.
[[nodiscard]] Result<std::shared_ptr<SimulatedRun>> SimulateJob(
    workload::JobFile file, const kernel::CostModel& costs,
    const simulate::SimulationOptions& options, const simulate::Scenario& scenario,
    Explanation explanation);

/// Says what a scenario makes faster, before the other what-ifs.
void AddSpeedups(const simulate::Scenario& scenario, SimulationAnswer& answer);

/// Sets the sentence on what binds the step, and the means over ranks. Needs summary and advice.
void AddConclusion(SimulatedRun& run);

/// The typed result of a run.
[[nodiscard]] SimulateResult MakeResult(std::shared_ptr<const SimulatedRun> run);

}  // namespace orrery::api
