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
#include "orrery/search/plan_figures.h"
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
constexpr char kScreens = 'S';
constexpr char kPlays = 'P';
constexpr char kRefines = 'R';
constexpr std::uint8_t kNotImproved = 0xFF;

std::int64_t PsOf(double seconds) {
  return std::llround(seconds * kPicoseconds);
}

void AddDetails(const simulate::Simulation& simulation, const workload::Job& job,
                PlayedPlan& played) {
  const simulate::RankClassId slowest =
      simulate::SlowestOfPrograms(simulation.rank_classes, simulation.timeline).front();
  const simulate::Breakdown breakdown =
      simulate::BreakdownOf(simulation.rank_classes, simulation.timeline, slowest);
  played.shares = breakdown.shares;
  const learn::TimeInterval interval =
      simulate::IntervalOf(breakdown, job, simulation.generated->coverage);
  played.low_ps = PsOf(interval.low_s);
  played.high_ps = PsOf(interval.high_s);
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

Result<PlayedPlan> PlayJob(const workload::Job& job, const kernel::CostModel& costs,
                           const simulate::SimulationOptions& options, const PlayOptions& asked) {
  if (asked.improved) {
    const simulate::Scenario scenario{.speedups = {{*asked.improved, kImprovement}}};
    workload::Job better = job;
    scenario.ApplyTo(better);
    return PlayJob(better, simulate::ScenarioCosts(costs, scenario), options,
                   {.details_up_to_ps = asked.details_up_to_ps});
  }
  ORRERY_TRY(const simulate::Simulation simulation, simulate::Simulate(job, costs, options));
  PlayedPlan played;
  played.step_ps = simulation.step_ps();
  if (played.step_ps <= asked.details_up_to_ps) {
    AddDetails(simulation, job, played);
  }
  const simulate::MemoryAnswer memory =
      simulate::MemoryAnswerOf(simulation.rank_classes, simulation.timeline, job);
  played.memory_bytes = memory.stages[memory.fullest].needed_bytes;
  played.usable_bytes = memory.stages[memory.fullest].usable_bytes;
  if (const auto energy = simulate::EnergyOf(job, *simulation.generated, played.step_ps)) {
    played.joules = energy->joules;
  }
  const double seconds = static_cast<double>(played.step_ps) / kPicoseconds;
  played.samples_per_s = static_cast<double>(job.training.global_batch) / seconds;
  played.tokens_per_s = played.samples_per_s * static_cast<double>(job.training.sequence);
  played.mfu = simulate::ModelUtilisation(job, played.step_ps).share;
  return played;
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

bool PlanEvaluation::IsTooLarge(const ScreenedPlan& screened, const workload::Job& job) const {
  const auto usable = static_cast<double>(simulate::UsableBytes(job.gpu));
  return static_cast<double>(screened.memory_bytes) > usable * space_.memory_share();
}

ScreenedPlan PlanEvaluation::ScreenPlan(const Space::Walk& walk, Bounds& bounds) const {
  const workload::Job& job = walk.job();
  ScreenedPlan screened{.id = walk.id(), .base = static_cast<std::uint32_t>(walk.base())};
  if (job.model.transformer() == nullptr || !job.other_gpus.empty()) {
    return screened;  // nothing is known before it is simulated
  }
  const Result<const StagedPlan*> plan = bounds.stages.Of(job, walk.base());
  if (!plan) {
    return screened;  // its simulation fails with the reason
  }
  screened.memory_bytes = bounds.memory.Bytes(**plan);
  if (IsTooLarge(screened, job)) {
    return screened;  // its time is not needed
  }
  screened.bound_ps = StepBoundPs(**plan);
  screened.bound_joules = JoulesOf(**plan, screened.bound_ps);
  return screened;
}

Screening PlanEvaluation::Screen(PlanId first, PlanId last) {
  std::unique_ptr<Bounds> bounds = TakeBounds();
  Screening screening;
  Space::Walk walk(space_, first, last);
  while (walk.Next()) {
    const ScreenedPlan screened = ScreenPlan(walk, *bounds);
    if (screening.considered == 0 || screened.memory_bytes < screening.smallest.memory_bytes) {
      screening.smallest = screened;
    }
    ++screening.considered;
    if (IsTooLarge(screened, walk.job())) {
      ++screening.too_large;
    } else {
      screening.plans.push_back(screened);
    }
  }
  screening.refused = walk.refused();
  screening.first_refusal = walk.first_refusal();
  GiveBack(std::move(bounds));
  return screening;
}

ScreenedPlans PlanEvaluation::Refine(const ScreenedPlans& plans) {
  std::unique_ptr<Bounds> bounds = TakeBounds();
  ScreenedPlans refined = plans;
  for (ScreenedPlan& screened : refined) {
    Space::Walk walk(space_, screened.id, screened.id + 1);
    if (screened.bound_ps == 0 || !walk.Next()) {
      continue;  // it has no bounds
    }
    const Result<const StagedPlan*> plan = bounds->stages.Of(walk.job(), walk.base());
    if (const std::int64_t closer_ps = plan ? bounds->passes.Ps(**plan) : 0;
        closer_ps > screened.bound_ps) {
      screened.bound_ps = closer_ps;
      screened.bound_joules = JoulesOf(**plan, closer_ps);
    }
  }
  GiveBack(std::move(bounds));
  return refined;
}

PlayedPlan PlanEvaluation::Play(PlanId id, const PlayOptions& asked) const {
  Space::Walk walk(space_, id, id + 1);
  PlayedPlan answer{.id = id};
  if (!walk.Next()) {
    answer.refusal = walk.first_refusal();
    return answer;
  }
  simulate::SimulationOptions options = options_;
  options.overlap_memo = overlap_of_base_[walk.base()].get();
  Result<PlayedPlan> played = PlayJob(walk.job(), costs_, options, asked);
  if (!played) {
    answer.refusal = played.error().message();
    return answer;
  }
  played->id = id;
  return *std::move(played);
}

std::string PlanEvaluation::ScreenRequest(PlanId first, PlanId last) {
  ByteWriter writer;
  writer.Number(kScreens);
  writer.Number(first);
  writer.Number(last);
  return writer.bytes();
}

std::string PlanEvaluation::PlayRequest(PlanId id, const PlayOptions& asked) {
  ByteWriter writer;
  writer.Number(kPlays);
  writer.Number(id);
  writer.Number(asked.improved ? static_cast<std::uint8_t>(*asked.improved) : kNotImproved);
  writer.Number(asked.details_up_to_ps);
  return writer.bytes();
}

std::string PlanEvaluation::RefineRequest(const ScreenedPlans& plans) {
  ByteWriter writer;
  writer.Number(kRefines);
  return writer.bytes() + Encode(plans);
}

Result<std::string> PlanEvaluation::Answer(std::string_view request) {
  ByteReader reader(request);
  const char kind = reader.Number<char>();
  if (kind == kRefines) {
    ORRERY_TRY(const ScreenedPlans plans, DecodeScreenedPlans(request.substr(sizeof(kRefines))));
    return Encode(Refine(plans));
  }
  const auto first = reader.Number<PlanId>();
  if (kind == kScreens) {
    const auto last = reader.Number<PlanId>();
    return Encode(Screen(first, last));
  }
  const auto part = reader.Number<std::uint8_t>();
  const auto improved = part == kNotImproved ? std::optional<trace::Part>()
                                             : std::optional(static_cast<trace::Part>(part));
  const auto details_up_to_ps = reader.Number<std::int64_t>();
  return Encode(Play(first, {.details_up_to_ps = details_up_to_ps, .improved = improved}));
}

WorkDealer::Work PlanEvaluation::work() {
  return {.answer = [this](std::string_view request) { return Answer(request); },
          .inputs = space_.Hash()};
}

}  // namespace orrery::search
