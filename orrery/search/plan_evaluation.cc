#include "orrery/search/plan_evaluation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "orrery/base/concurrency/work_dealer.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_cursor.h"
#include "orrery/kernel/estimate.h"
#include "orrery/learn/interval.h"
#include "orrery/search/memory_bound.h"
#include "orrery/search/plan_results.h"
#include "orrery/search/space.h"
#include "orrery/search/stage_costs.h"
#include "orrery/search/step_bound.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/explain/breakdown.h"
#include "orrery/simulate/explain/energy.h"
#include "orrery/simulate/explain/interval.h"
#include "orrery/simulate/explain/memory_timeline.h"
#include "orrery/simulate/explain/summary.h"
#include "orrery/simulate/scenario.h"
#include "orrery/simulate/simulation.h"
#include "orrery/trace/speedup.h"
#include "orrery/workload/generate/generate.h"
#include "orrery/workload/job/job.h"

namespace orrery::search {
namespace {

constexpr double kPicoseconds = 1e12;
constexpr char kBounds = 'S';
constexpr char kPlays = 'P';
constexpr char kRefines = 'R';
constexpr std::uint8_t kNotImproved = 0xFF;

std::int64_t PsOf(double seconds) {
  return std::llround(seconds * kPicoseconds);
}

void AddDetails(const simulate::Simulation& simulation, const workload::Job& job,
                SimulatedPlan& simulated) {
  const simulate::RankClassId slowest =
      simulate::SlowestOfPrograms(simulation.rank_classes, simulation.timeline).front();
  const simulate::Breakdown breakdown =
      simulate::BreakdownOf(simulation.rank_classes, simulation.timeline, slowest);
  simulated.shares = breakdown.shares;
  const learn::TimeInterval interval =
      simulate::IntervalOf(breakdown, job, simulation.generated->coverage);
  simulated.low_ps = PsOf(interval.low_s);
  simulated.high_ps = PsOf(interval.high_s);
}

double JoulesOf(const StagedPlan& plan, std::int64_t step_ps) {
  const workload::Job& job = *plan.job;
  workload::GeneratedJob power;
  power.power.push_back(plan.priced->power);
  power.power.back().busy_seconds *=
      static_cast<double>(job.microbatches()) / static_cast<double>(job.plan.pp);
  const auto energy = simulate::EnergyOf(job, power, step_ps);
  return energy ? energy->joules : 0;
}

}  // namespace

Result<SimulatedPlan> SimulatePlan(const workload::Job& job, const kernel::CostModel& costs,
                                   const simulate::SimulationOptions& options,
                                   const PlanOptions& asked) {
  if (asked.improved) {
    const simulate::Scenario scenario{.speedups = {{*asked.improved, kImprovement}}};
    workload::Job better = job;
    scenario.ApplyTo(better);
    return SimulatePlan(better, simulate::ScenarioCosts(costs, scenario), options,
                        {.details_up_to_ps = asked.details_up_to_ps});
  }
  ORRERY_TRY(const simulate::Simulation simulation, simulate::Simulate(job, costs, options));
  SimulatedPlan simulated;
  simulated.step_ps = simulation.step_ps();
  if (simulated.step_ps <= asked.details_up_to_ps) {
    AddDetails(simulation, job, simulated);
  }
  const simulate::MemoryAnswer memory =
      simulate::MemoryAnswerOf(simulation.rank_classes, simulation.timeline, job);
  simulated.memory_bytes = memory.stages[memory.fullest].needed_bytes;
  simulated.usable_bytes = memory.stages[memory.fullest].usable_bytes;
  if (const auto energy = simulate::EnergyOf(job, *simulation.generated, simulated.step_ps)) {
    simulated.joules = energy->joules;
  }
  const double seconds = static_cast<double>(simulated.step_ps) / kPicoseconds;
  simulated.samples_per_s = static_cast<double>(job.training.global_batch) / seconds;
  simulated.tokens_per_s = simulated.samples_per_s * static_cast<double>(job.training.sequence);
  simulated.mfu = simulate::ModelUtilisation(job, simulated.step_ps).share;
  return simulated;
}

std::unique_ptr<PlanEvaluation::Bounds> PlanEvaluation::TakeBounds() {
  const std::scoped_lock lock(mutex_);
  if (free_bounds_.empty()) {
    return std::make_unique<Bounds>(costs_);
  }
  std::unique_ptr<Bounds> bounds = std::move(free_bounds_.back());
  free_bounds_.pop_back();
  return bounds;
}

void PlanEvaluation::GiveBack(std::unique_ptr<Bounds> bounds) {
  const std::scoped_lock lock(mutex_);
  free_bounds_.push_back(std::move(bounds));
}

bool PlanEvaluation::IsTooLarge(const BoundedPlan& bounded, const workload::Job& job) const {
  const auto usable = static_cast<double>(simulate::UsableBytes(job.gpu));
  return static_cast<double>(bounded.memory_bytes) > usable * space_.memory_share();
}

BoundedPlan PlanEvaluation::BoundPlan(const Space::Walk& walk, Bounds& bounds) const {
  const workload::Job& job = walk.job();
  BoundedPlan bounded{.id = walk.id(), .base = static_cast<std::uint32_t>(walk.base())};
  if (job.model.transformer() == nullptr || !job.other_gpus.empty()) {
    return bounded;  // nothing is known before it is simulated
  }
  const Result<const StagedPlan*> plan = bounds.stages.Of(job, walk.base());
  if (!plan) {
    return bounded;  // its simulation fails with the reason
  }
  bounded.memory_bytes = bounds.memory.Bytes(**plan);
  if (IsTooLarge(bounded, job)) {
    return bounded;  // its time is not needed
  }
  bounded.bound_ps = StepBoundPs(**plan);
  bounded.bound_joules = JoulesOf(**plan, bounded.bound_ps);
  return bounded;
}

PlanBounds PlanEvaluation::Bound(PlanId first, PlanId last) {
  std::unique_ptr<Bounds> bounds = TakeBounds();
  PlanBounds plan_bounds;
  Space::Walk walk(space_, first, last);
  while (walk.Next()) {
    const BoundedPlan bounded = BoundPlan(walk, *bounds);
    if (plan_bounds.considered == 0 || bounded.memory_bytes < plan_bounds.smallest.memory_bytes) {
      plan_bounds.smallest = bounded;
    }
    ++plan_bounds.considered;
    if (IsTooLarge(bounded, walk.job())) {
      ++plan_bounds.too_large;
    } else {
      plan_bounds.plans.push_back(bounded);
    }
  }
  plan_bounds.refused = walk.refused();
  plan_bounds.first_refusal = walk.first_refusal();
  GiveBack(std::move(bounds));
  return plan_bounds;
}

BoundedPlans PlanEvaluation::Refine(const BoundedPlans& plans) {
  std::unique_ptr<Bounds> bounds = TakeBounds();
  BoundedPlans refined = plans;
  for (BoundedPlan& bounded : refined) {
    Space::Walk walk(space_, bounded.id, bounded.id + 1);
    if (bounded.bound_ps == 0 || !walk.Next()) {
      continue;  // it has no bounds
    }
    const Result<const StagedPlan*> plan = bounds->stages.Of(walk.job(), walk.base());
    if (const std::int64_t closer_ps = plan ? bounds->passes.Ps(**plan) : 0;
        closer_ps > bounded.bound_ps) {
      bounded.bound_ps = closer_ps;
      bounded.bound_joules = JoulesOf(**plan, closer_ps);
    }
  }
  GiveBack(std::move(bounds));
  return refined;
}

SimulatedPlan PlanEvaluation::Simulate(PlanId id, const PlanOptions& asked) const {
  Space::Walk walk(space_, id, id + 1);
  SimulatedPlan answer{.id = id};
  if (!walk.Next()) {
    answer.refusal = walk.first_refusal();
    return answer;
  }
  simulate::SimulationOptions options = options_;
  options.overlap_memo = overlap_of_base_[walk.base()].get();
  Result<SimulatedPlan> simulated = SimulatePlan(walk.job(), costs_, options, asked);
  if (!simulated) {
    answer.refusal = simulated.error().message();
    return answer;
  }
  simulated->id = id;
  return *std::move(simulated);
}

std::string PlanEvaluation::BoundRequest(PlanId first, PlanId last) {
  ByteWriter writer;
  writer.Number(kBounds);
  writer.Number(first);
  writer.Number(last);
  return writer.bytes();
}

std::string PlanEvaluation::SimulationRequest(PlanId id, const PlanOptions& asked) {
  ByteWriter writer;
  writer.Number(kPlays);
  writer.Number(id);
  writer.Number(asked.improved ? static_cast<std::uint8_t>(*asked.improved) : kNotImproved);
  writer.Number(asked.details_up_to_ps);
  return writer.bytes();
}

std::string PlanEvaluation::RefineRequest(const BoundedPlans& plans) {
  ByteWriter writer;
  writer.Number(kRefines);
  return writer.bytes() + Encode(plans);
}

Result<std::string> PlanEvaluation::Answer(std::string_view request) {
  ByteReader reader(request);
  const char kind = reader.Number<char>();
  if (kind == kRefines) {
    ORRERY_TRY(const BoundedPlans plans, DecodeBoundedPlans(request.substr(sizeof(kRefines))));
    return Encode(Refine(plans));
  }
  const auto first = reader.Number<PlanId>();
  if (kind == kBounds) {
    const auto last = reader.Number<PlanId>();
    return Encode(Bound(first, last));
  }
  const auto part = reader.Number<std::uint8_t>();
  const auto improved = part == kNotImproved ? std::optional<trace::Part>()
                                             : std::optional(static_cast<trace::Part>(part));
  const auto details_up_to_ps = reader.Number<std::int64_t>();
  return Encode(Simulate(first, {.details_up_to_ps = details_up_to_ps, .improved = improved}));
}

WorkDealer::Work PlanEvaluation::work() {
  return {.answer = [this](std::string_view request) { return Answer(request); },
          .inputs = space_.Hash()};
}

}  // namespace orrery::search
