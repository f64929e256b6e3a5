#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/api/simulate.h"
#include "orrery/api/simulate/answer.h"
#include "orrery/api/simulate/job_run.h"
#include "orrery/base/document/value.h"
#include "orrery/simulate/explain/advice.h"
#include "orrery/simulate/explain/breakdown.h"
#include "orrery/simulate/explain/summary.h"
#include "orrery/simulate/simulation.h"
#include "orrery/workload/job/plan_yaml.h"

// The typed result of a simulated step.

namespace orrery::api {
namespace {

using simulate::StepSummary;

constexpr double kTera = 1e12;

double Seconds(std::int64_t ps) {
  return static_cast<double>(ps) * 1e-12;
}

// A result for each item.
template <typename Items, typename Make>
auto Made(const Items& items, Make make) {
  std::vector<decltype(make(items.front()))> results;
  results.reserve(items.size());
  std::ranges::transform(items, std::back_inserter(results), make);
  return results;
}

std::optional<StepUtilisation> MakeUtilisation(
    const std::optional<simulate::Utilisation>& utilisation) {
  return utilisation ? std::optional(StepUtilisation{
                           .flops = utilisation->flops,
                           .share = utilisation->share,
                           .tflops_per_s_a_gpu = utilisation->flops_per_s_of_gpu / kTera,
                           .definition = utilisation->definition})
                     : std::nullopt;
}

void SetThroughput(const std::optional<simulate::JobFigures>& known, SimulateResult& result) {
  if (!known) {
    return;
  }
  const auto share = [](const std::optional<simulate::Utilisation>& utilisation) {
    return utilisation ? std::optional(utilisation->share) : std::nullopt;
  };
  result.tokens_per_s = known->tokens_per_s;
  result.samples_per_s = known->samples_per_s;
  result.mfu = share(known->model);
  result.hfu = share(known->hardware);
  result.model_flops = MakeUtilisation(known->model);
  result.hardware_flops = MakeUtilisation(known->hardware);
}

StepStage MakeStage(const simulate::StageSummary& summary) {
  StepStage stage{.name = summary.name,
                  .stage = summary.stage,
                  .rank = summary.rank,
                  .ranks = summary.ranks,
                  .gpu = summary.gpu,
                  .memory_peak_bytes = summary.memory.peak_bytes,
                  .memory_needed_bytes = summary.memory.needed_bytes,
                  .memory_peak_at_s = Seconds(summary.memory.peak_ps)};
  if (summary.stage) {
    stage.busy_s = Seconds(summary.busy_ps);
  }
  if (!summary.gpu.empty()) {
    stage.memory_usable_bytes = summary.memory.usable_bytes;
  }
  for (const simulate::MemoryPart& part : summary.memory.parts) {
    stage.memory_parts.emplace_back(part.category, part.bytes);
  }
  return stage;
}

StepCommunication MakeCommunication(const simulate::DimensionTotal& total) {
  return {.dimension = std::string(total.dimension),
          .calls = total.calls,
          .bytes = total.bytes,
          .transfer_s = Seconds(total.transfer_ps),
          .contended_s = Seconds(total.contended_ps),
          .wait_s = Seconds(total.wait_ps),
          .exposed_s = Seconds(total.exposed_ps)};
}

StepSlowdown MakeSlowdown(const simulate::DelayTotals& totals) {
  return {.kernels = totals.kernels,
          .kernels_alone_s = Seconds(totals.kernels_alone_ps),
          .kernels_s = Seconds(totals.kernels_ps),
          .transfers = totals.transfers,
          .transfers_alone_s = Seconds(totals.transfers_alone_ps),
          .transfers_s = Seconds(totals.transfers_ps),
          .delayed_s = Seconds(totals.delayed_ps)};
}

StepChange MakeChange(const simulate::TriedChange& tried) {
  return {.what = tried.what,
          .setting = tried.setting,
          .step_time_s = Seconds(tried.step_ps),
          .gain = tried.gain,
          .gain_low = tried.least_gain,
          .gain_high = tried.most_gain,
          .fits_in_memory = tried.fits,
          .is_worthwhile = tried.IsWorthwhile()};
}

StepReplayedRank MakeReplayedRank(const ReplayedRank& rank) {
  return {.rank = rank.rank,
          .measured_step_s = rank.step_ms * 1e-3,
          .profiler_cost_us = rank.profiler_cost_us,
          .profiler_cost_from = rank.cost_source};
}

StepCheckpoint MakeCheckpoint(const CheckpointAnswer& checkpoint, std::int64_t step_ps) {
  StepCheckpoint made{.bytes = checkpoint.written.size.count,
                      .storage_bytes_per_s = checkpoint.storage.bytes_per_second,
                      .gpu_bytes_per_s = checkpoint.written.of_gpu.bytes_per_second,
                      .added_s = Seconds(checkpoint.added_ps)};
  if (checkpoint.written.end_ps <= step_ps) {
    made.written_s = Seconds(checkpoint.written.end_ps);
  }
  return made;
}

// Sections become objects, settings texts.
Value JobValue(const SimulationAnswer& answer) {
  Value data = Value::Object();
  data.Set("title", answer.title);
  if (answer.job == nullptr) {
    return data;
  }
  Value section = Value::Object();
  std::string name;
  for (const workload::JobFact& fact : workload::JobFacts(*answer.job)) {
    if (fact.section != name) {
      section = Value::Object();
      name = fact.section;
    }
    section.Set(fact.name, fact.value);
    data.Set(name, section);
  }
  return data;
}

// All that takes longer than the step.
void SetDetails(const SimulationAnswer& answer, SimulateResult& result) {
  const StepSummary& summary = answer.summary;
  result.breakdown_s.emplace();
  for (const simulate::TimeShare& share : summary.breakdown.shares) {
    result.breakdown_s->emplace_back(simulate::ShareKey(share), Seconds(share.ps));
  }
  result.breakdown_rank = summary.slowest_rank;
  result.exposed_communication_s = Seconds(answer.means.exposed_ps);
  result.contended_ps = answer.contended_ps;
  if (summary.has_pipeline) {
    result.bubble = StepBubble{
        .mean_s = Seconds(answer.means.bubble_ps),
        .slowest_rank_s = Seconds(summary.breakdown.TotalPs(simulate::TimeKind::kBubble))};
  }
  if (answer.checkpoint) {
    result.checkpoint = MakeCheckpoint(*answer.checkpoint, summary.step_ps);
  }
  result.communication = Made(summary.dimensions, MakeCommunication);
  result.held_up = MakeSlowdown(summary.delayed);
  result.stages = Made(summary.stages, MakeStage);
  result.bottleneck = answer.bottleneck;
  result.causes = Made(answer.advice.causes, MakeChange);
  result.advice = Made(answer.advice.changes, MakeChange);
}

void SetEnergy(const SimulationAnswer& answer, SimulateResult& result) {
  if (answer.energy) {
    result.energy = StepEnergy{.step_j = answer.energy->joules,
                               .watts_per_gpu = answer.energy->watts_of_gpu,
                               .clock = answer.energy->clock,
                               .month_kwh = answer.energy->MonthKwh(answer.job->gpus)};
  }
}

}  // namespace

SimulateResult MakeResult(std::shared_ptr<const SimulatedRun> run) {
  const SimulationAnswer& answer = run->answer;
  SimulateResult result;
  result.left_out = answer.left_out;
  result.step_time_s = Seconds(answer.summary.step_ps);
  if (answer.interval) {
    result.low_s = answer.interval->low_s;
    result.high_s = answer.interval->high_s;
    result.interval_note = answer.interval_note;
  }
  if (answer.steps) {
    SetSteps(*answer.steps, result);
  }
  SetEnergy(answer, result);
  SetThroughput(answer.summary.figures, result);
  SetMemory(answer.summary, result);
  result.network = std::string(simulate::Name(answer.network));
  if (!answer.is_step_only) {
    SetDetails(answer, result);
  }
  result.replayed_ranks = Made(answer.replayed, MakeReplayedRank);
  result.what_ifs = answer.what_ifs;
  result.remarks = answer.remarks;
  result.not_modelled = answer.not_modelled;
  result.ranks = answer.summary.ranks;
  result.rank_classes = answer.summary.rank_classes;
  result.events = answer.summary.events;
  result.job = JobValue(answer);
  result.run = std::move(run);
  return result;
}

}  // namespace orrery::api
