#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/api/call.h"
#include "orrery/api/fields/documents.h"
#include "orrery/api/input/job_input.h"
#include "orrery/api/session.h"
#include "orrery/api/simulate.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/base/units.h"
#include "orrery/kernel/estimate.h"
#include "orrery/learn/interval.h"
#include "orrery/network/congestion.h"
#include "orrery/network/topology.h"
#include "orrery/simulate/explain/advice.h"
#include "orrery/simulate/explain/breakdown.h"
#include "orrery/simulate/explain/energy.h"
#include "orrery/simulate/explain/interval.h"
#include "orrery/simulate/explain/memory_timeline.h"
#include "orrery/simulate/explain/summary.h"
#include "orrery/simulate/goodput/step_jitter.h"
#include "orrery/simulate/network/flow_usage.h"
#include "orrery/simulate/network/link_utilisation.h"
#include "orrery/simulate/several_jobs.h"
#include "orrery/simulate/simulation.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/generate/generate.h"
#include "orrery/workload/job/job.h"

namespace orrery::api {

/// Network options of a request; `options` points into the others.
struct NetworkInput {
  simulate::NetworkOptions options = {};
  std::unique_ptr<network::Topology> topology = {};
  std::unique_ptr<network::CongestionModel> congestion = {};
};

[[nodiscard]] Result<NetworkInput> ReadNetwork(const SimulateRequest& request);

/// Reads "rank=7:1.3": rank 7 takes 1.3 times as long.
[[nodiscard]] Result<simulate::SlowRank> ParseSlowRank(const std::string& text);

/// Reads "ranks=8-15:A100-80GB" and returns the key of a job that says the same:
/// "gpu_of.8-15=A100-80GB".
[[nodiscard]] Result<std::string> GpuOfSetting(const std::string& text);

/// Reads "node=3:nic=2": NIC 2 of node 3 is down.
[[nodiscard]] Result<simulate::FailedNic> ParseFailedNic(const std::string& text);

/// Reads "node=3:0.5": the NICs of node 3 carry half.
[[nodiscard]] Result<simulate::SlowNode> ParseSlowNode(const std::string& text);

/// The job's options, with those of --gpu-of as settings.
[[nodiscard]] Result<JobInput> JobInputOf(const SimulateRequest& request);

/// A recorded rank that is simulated, and how its recording was read.
struct ReplayedRank {
  workload::Rank rank = 0;
  double step_ms = 0;           // measured without the profiler, alone
  double profiler_cost_us = 0;  // of the host's time for each recorded event
  std::string cost_source = {};
};

/// The program of another tool, for all ranks.
struct ImportedProgram {
  std::string title;
  workload::Ensemble ensemble;
  std::vector<std::string> notes = {};    // parts that were left out or changed
  std::vector<std::string> remarks = {};  // other remarks
  std::string gpu = {};                   // for which it was recorded; empty: that of the cluster
  std::string framework = {};             // it runs in; empty: none that is known
  int steps_before = 0;                   // see simulate::SimulationOptions
  std::int64_t samples_per_step = 0;      // of all ranks; 0: not known
  std::int64_t tokens_per_sample = 0;
  std::optional<workload::Job> described = {};  // its model and batch, on the GPUs that simulate it
  std::vector<ReplayedRank> replayed = {};
  std::vector<simulate::StageMemory> memory_of_program = {};  // recorded; empty: not known
};

/// Kinds of inputs, found by their names and first bytes.
enum class SimulateInput { kJob, kSimai, kChakra, kEcho, kTraced };

[[nodiscard]] SimulateInput InputKind(const SimulateRequest& request);

/// Reads the folder of a traced job, for --from, and makes all ranks of it.
[[nodiscard]] Result<ImportedProgram> ImportTracedJob(const Session& session,
                                                      const SimulateRequest& request);

/// Reads what InputKind found, for the engine; not for kJob.
[[nodiscard]] Result<ImportedProgram> ImportProgram(const Session& session, SimulateInput kind,
                                                    const SimulateRequest& request);

/// Steps of --steps, which vary around the simulated one.
struct DrawnSteps {
  std::int64_t count = 0;
  std::uint64_t seed = 0;
  int gpus = 0;
  double median_s = 0;  // the simulated step
  double stalls_per_step = 0;
  simulate::StepDistribution distribution = {};
  // The 95th percentile on systems whose steps vary less, and more, than those of nine in ten.
  double quiet_p95_s = 0;
  double noisy_p95_s = 0;
  std::vector<std::string> beyond_fit = {};  // simulate::BeyondFit
};

/// Nothing without --steps.
[[nodiscard]] std::optional<DrawnSteps> DrawStepsOf(const SimulateRequest& request,
                                                    const std::string& gpu,
                                                    const simulate::StepSummary& summary);

void AddSteps(const DrawnSteps& drawn, bool has_pictures, Document& document);
/// Sets `p50_s` to `steps`.
void SetSteps(const DrawnSteps& drawn, SimulateResult& result);

/// Says so where a step does not fit; `of` stands before the name of the stage: "wide, ".
void AddOutOfMemory(std::string_view of, const simulate::StepSummary& summary,
                    Document::Section& section);

/// Peak, when and of what, by stage.
[[nodiscard]] std::vector<Document::Column> MemoryColumns();
[[nodiscard]] std::vector<Value> MemoryCells(const simulate::StageSummary& stage);

void AddMemory(const simulate::StepSummary& summary, Document::Section& section);
void AddMemorySection(const simulate::StepSummary& summary,
                      const simulate::SimulatedStep* simulated, Document& document);

/// Sets the memory of the fullest stage in a result.
template <typename SomeResult>
void SetMemory(const simulate::StepSummary& summary, SomeResult& result) {
  if (const simulate::StageSummary* const fullest = summary.Fullest()) {
    result.memory_peak_bytes = fullest->memory.peak_bytes;
    result.memory_needed_bytes = fullest->memory.needed_bytes;
  }
  result.memory_usable_bytes = summary.memory_size_bytes;
  result.out_of_memory = summary.IsOutOfMemory();
  result.nearly_out_of_memory = summary.IsNearlyOutOfMemory();
}

/// Says what of a job as it is written was left out, where there is any.
void AddLeftOut(std::string_view of, const std::vector<std::string>& left_out,
                Document::Section& section);

/// A checkpoint that was written beside the step.
struct CheckpointAnswer {
  Bandwidth storage = {};
  simulate::WrittenCheckpoint written = {};
  std::int64_t added_ps = 0;  // to the step
};

struct SimulationAnswer {
  std::string name;                    // of the job
  std::string title;                   // one line: what was simulated
  const workload::Job* job = nullptr;  // none: a program of another tool
  bool is_step_only = false;           // then there is nothing that takes longer than the step
  simulate::StepSummary summary;
  std::optional<learn::TimeInterval> interval = {};
  std::string interval_note = {};  // why it is wide
  std::optional<DrawnSteps> steps = {};
  std::optional<simulate::StepEnergy> energy = {};
  simulate::RankMeans means = {};
  simulate::NetworkModel network = simulate::NetworkModel::kAlone;
  bool is_contended = false;        // transfers have lost time to each other
  std::int64_t contended_ps = 0;    // that the step would be shorter if no links were shared
  std::uint32_t classes_alone = 0;  // rank classes then
  std::optional<CheckpointAnswer> checkpoint = {};
  simulate::LinkUtilisation links = {};  // for pictures
  std::string bottleneck;
  simulate::Advice advice = {};
  std::vector<ReplayedRank> replayed = {};
  std::vector<std::string> what_ifs = {};  // simulate::WhatIfs
  std::vector<std::string> remarks = {};
  std::vector<std::string> left_out = {};  // of the job as it is written
  std::vector<std::string> not_modelled = {};
};

/// Simulates the same again with other options.
using SimulateWith =
    std::function<Result<simulate::Simulation>(const simulate::SimulationOptions&)>;

/// Sets the interval of a job's step and, where it is wide, the reason. Needs the summary.
void AddInterval(const workload::Job& job, const workload::GeneratedJob& generated,
                 SimulationAnswer& answer);

/// Sets what sharing the network costs, against the same without shared links; that is simulated
/// where transfers lost time to each other.
[[nodiscard]] Status AddContention(const simulate::Simulation& simulation,
                                   simulate::SimulationOptions options,
                                   const SimulateWith& simulate_with, SimulationAnswer& answer);

/// The document without its JSON. Pictures are drawn where `simulated` is given.
[[nodiscard]] Document SimulationDocument(const SimulationAnswer& answer,
                                          const simulate::SimulatedStep* simulated);

}  // namespace orrery::api
