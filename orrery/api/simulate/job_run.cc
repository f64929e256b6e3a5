#include "orrery/api/simulate/job_run.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/api/simulate/answer.h"
#include "orrery/base/error.h"
#include "orrery/kernel/estimate.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/explain/advice.h"
#include "orrery/simulate/explain/breakdown.h"
#include "orrery/simulate/explain/energy.h"
#include "orrery/simulate/explain/memory_timeline.h"
#include "orrery/simulate/explain/summary.h"
#include "orrery/simulate/scenario.h"
#include "orrery/simulate/simulation.h"
#include "orrery/simulate/workload_card.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/job_file.h"
#include "orrery/workload/job/plan_yaml.h"

namespace orrery::api {
namespace {

// Folding changes no time, unless every rank differs.
simulate::SimulationOptions VariantOptions(simulate::SimulationOptions options) {
  options.folds = options.folds || options.jitter == 0;
  return options;
}

Result<simulate::VariantStep> SimulateVariantOfJob(const workload::Job& job,
                                                   const kernel::CostModel& costs,
                                                   const simulate::SimulationOptions& options) {
  ORRERY_TRY(const simulate::Simulation simulation,
             simulate::Simulate(job, costs, VariantOptions(options)));
  const simulate::MemoryAnswer memory =
      simulate::MemoryAnswerOf(simulation.rank_classes, simulation.timeline, job);
  const simulate::RankClassId slowest =
      simulate::SlowestOfPrograms(simulation.rank_classes, simulation.timeline).front();
  return simulate::VariantStep{
      .step_ps = simulation.step_ps(),
      .fits = memory.stages[memory.fullest].free_bytes() >= 0,
      .breakdown = simulate::BreakdownOf(simulation.rank_classes, simulation.timeline, slowest)};
}

// Simulates the same step without the checkpoint.
Status AddCheckpoint(const simulate::Simulation& simulation, simulate::SimulationOptions options,
                     const SimulateWith& simulate_with, SimulationAnswer& answer) {
  if (answer.is_step_only || !simulation.checkpoint) {
    return {};
  }
  answer.checkpoint = CheckpointAnswer{.storage = options.network.checkpoint->storage,
                                       .written = *simulation.checkpoint};
  options.network.checkpoint.reset();
  ORRERY_TRY(const simulate::Simulation without, simulate_with(options));
  answer.checkpoint->added_ps = simulation.step_ps() - without.step_ps();
  return {};
}

void AddSummary(SimulatedRun& run, const simulate::SimulationOptions& options,
                Explanation explanation) {
  SimulationAnswer& answer = run.answer;
  answer.is_step_only = explanation == Explanation::kStepOnly;
  answer.name = run.job.name;
  answer.title = workload::JobLine(run.job);
  answer.job = &run.job;
  answer.network = run.simulation.network;
  answer.what_ifs = simulate::WhatIfs(run.job, options);
  answer.not_modelled = simulate::NotModelled(run.job, *run.simulation.generated, options);
  answer.summary =
      simulate::Summarize(run.step(), answer.is_step_only ? simulate::SummaryDetail::kStepOnly
                                                          : simulate::SummaryDetail::kAll);
  answer.energy = simulate::EnergyOf(run.job, *run.simulation.generated, answer.summary.step_ps);
  if (!answer.is_step_only) {
    AddInterval(run.job, *run.simulation.generated, answer);
  }
}

}  // namespace

void AddSpeedups(const simulate::Scenario& scenario, SimulationAnswer& answer) {
  std::vector<std::string> phrases = scenario.SpeedupPhrases();
  answer.what_ifs.insert(answer.what_ifs.begin(), phrases.begin(), phrases.end());
}

Result<std::shared_ptr<SimulatedRun>> SimulateJob(workload::JobFile file,
                                                  const kernel::CostModel& given_costs,
                                                  const simulate::SimulationOptions& given_options,
                                                  const simulate::Scenario& scenario,
                                                  Explanation explanation) {
  const simulate::ScenarioCosts costs(given_costs, scenario);
  simulate::SimulationOptions options = given_options;
  scenario.ApplyTo(options);
  scenario.ApplyTo(file.job);
  const auto run = std::make_shared<SimulatedRun>();
  run->job = std::move(file.job);
  run->answer.left_out = std::move(file.not_modelled);
  run->card = simulate::CardOf(run->job);
  ORRERY_TRY(run->simulation, simulate::Simulate(run->job, costs, options));
  AddSummary(*run, options, explanation);
  AddSpeedups(scenario, run->answer);
  const SimulateWith simulate_with = [&](const simulate::SimulationOptions& changed) {
    return simulate::SimulateEnsemble(run->job, run->simulation.generated->ensemble, changed);
  };
  if (explanation >= Explanation::kNetwork || explanation == Explanation::kStepOnly) {
    ORRERY_TRY_STATUS(AddContention(run->simulation, options, simulate_with, run->answer));
  }
  ORRERY_TRY_STATUS(AddCheckpoint(run->simulation, options, simulate_with, run->answer));
  if (explanation == Explanation::kAdvice) {
    run->answer.advice = simulate::TryChanges(
        run->job, options, run->answer.summary, simulate::JobScope::kWhole,
        [&](const workload::Job& job, const simulate::SimulationOptions& changed) {
          return SimulateVariantOfJob(job, costs, changed);
        });
  }
  AddConclusion(*run);
  return run;
}

void AddConclusion(SimulatedRun& run) {
  if (run.answer.is_step_only) {
    return;
  }
  run.answer.bottleneck = simulate::BottleneckSentence(run.answer.summary, run.answer.advice);
  run.answer.means = simulate::MeansOf(run.simulation.rank_classes, run.simulation.timeline);
}

}  // namespace orrery::api
