#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orrery/api/call.h"
#include "orrery/api/export.h"
#include "orrery/api/fields.h"
#include "orrery/api/input/job_input.h"
#include "orrery/api/session.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/report/document.h"

// The step time, memory and timeline of a training job.

namespace orrery::api {

/// The request of a simulation. One job (a file, or the text of one), or the program of another
/// tool; several jobs share one cluster. Texts have the form of the options of `orrery simulate`.
struct SimulateRequest {
  std::vector<std::string> jobs = {};  // files
  std::string job_yaml = {};           // the text of a job, instead of a file
  std::string from = {};
  int world = 0;          // 0: as traced
  std::string host = {};  // of a traced job: a file or a name; empty: as traced
  JobInput job = {};
  std::vector<std::string> what_if = {};  // "gemm=2"
  std::vector<std::string> slow = {};     // "rank=7:1.3"
  std::vector<std::string> gpu_of = {};   // "ranks=8-15:A100-80GB"
  std::vector<std::string> fail = {};     // "node=3:nic=2"
  std::vector<std::string> degrade = {};  // "node=3:0.5"
  std::string network = {};   // alone, shared or flows; empty: shared over several nodes
  std::string topology = {};  // file
  std::string routing = {};   // hash, adaptive or spray; empty: adaptive
  std::int64_t routing_seed = 0;
  double oversubscribe = 0;
  std::string background = {};          // "0.3" or a file
  std::string congestion = {};          // name of a model
  std::string checkpoint_traffic = {};  // rate of the storage: "200GB/s"
  std::string placement = "packed";     // of several jobs: or "spread", or nodes "0-7/8-15"
  double jitter = 0;
  std::int64_t steps = 0;  // to draw around the simulated one; 0: none
  std::uint64_t seed = 0;  // of them
  std::string overlap = "model";
  bool no_fold = false;
  bool step_only = false;
  std::int64_t max_tasks = 0;  // 0: 20 million, with flows 60
  std::vector<std::string> echo_ops = {};
  int gpus = 0;               // of programs that do not say it
  std::string emulate = {};   // name of another simulator
  std::string settings = {};  // of it

  bool needs_pictures = false;  // draws the pictures of the document, which takes a while
  CallOptions call = {};
};

struct StepEnergy {
  double step_j = 0;
  double watts_per_gpu = 0;
  double clock = 0;
  double month_kwh = 0;
};

struct StepUtilisation {
  double flops = 0;
  double share = 0;
  double tflops_per_s_a_gpu = 0;
  std::string definition;
};

/// Steps that vary around the simulated one.
struct StepVariation {
  std::int64_t count = 0;
  std::int64_t seed = 0;
  double mean_s = 0;
  double best_s = 0;
  double worst_s = 0;
  double mean_over_best = 0;
  double p95_low_s = 0;
  double p95_high_s = 0;
  double stalls_per_step = 0;
  int fitted_systems = 0;
  int fitted_submitters = 0;
  std::vector<std::string> extrapolates_in = {};
};

struct StepBubble {
  double mean_s = 0;
  double slowest_rank_s = 0;
};

struct StepCheckpoint {
  std::int64_t bytes = 0;
  double storage_bytes_per_s = 0;
  double gpu_bytes_per_s = 0;
  double added_s = 0;
  std::optional<double> written_s = {};
};

struct StepCommunication {
  std::string dimension;
  std::int64_t calls = 0;
  std::int64_t bytes = 0;
  double transfer_s = 0;
  double contended_s = 0;
  double wait_s = 0;
  double exposed_s = 0;
};

/// Kernels and transfers that slowed each other down on the slowest rank.
struct StepSlowdown {
  std::int64_t kernels = 0;
  double kernels_alone_s = 0;
  double kernels_s = 0;
  std::int64_t transfers = 0;
  double transfers_alone_s = 0;
  double transfers_s = 0;
  double delayed_s = 0;
};

struct StepStage {
  std::string name;
  std::optional<std::int64_t> stage = {};
  std::int64_t rank = 0;
  std::int64_t ranks = 1;
  std::optional<double> busy_s = {};
  std::string gpu = {};
  std::optional<std::int64_t> memory_usable_bytes = {};
  std::int64_t memory_peak_bytes = 0;
  std::int64_t memory_needed_bytes = 0;
  double memory_peak_at_s = 0;
  Keyed<std::int64_t> memory_parts = {};
};

/// A change of the job that was simulated.
struct StepChange {
  std::string what;
  std::string setting = {};
  double step_time_s = 0;
  double gain = 0;
  std::optional<double> gain_low = {};
  std::optional<double> gain_high = {};
  bool fits_in_memory = true;
  bool is_worthwhile = false;
};

struct StepReplayedRank {
  std::int64_t rank = 0;
  double measured_step_s = 0;
  double profiler_cost_us = 0;
  std::string profiler_cost_from = {};
};

struct SimulatedRun;

/// A simulated step. What is optional is not known of every job, or is left out by `step_only`.
struct SimulateResult {
  std::vector<std::string> left_out = {};
  double step_time_s = 0;
  std::optional<double> low_s = {};
  std::optional<double> high_s = {};
  std::string interval_note = {};
  std::optional<double> p50_s = {};
  std::optional<double> p95_s = {};
  std::optional<double> p99_s = {};
  std::optional<StepVariation> steps = {};
  std::optional<StepEnergy> energy = {};
  std::optional<double> tokens_per_s = {};
  std::optional<double> samples_per_s = {};
  std::optional<double> mfu = {};
  std::optional<double> hfu = {};
  std::optional<StepUtilisation> model_flops = {};
  std::optional<StepUtilisation> hardware_flops = {};
  std::optional<std::int64_t> memory_peak_bytes = {};
  std::optional<std::int64_t> memory_needed_bytes = {};
  std::optional<std::int64_t> memory_usable_bytes = {};
  bool out_of_memory = false;
  bool nearly_out_of_memory = false;
  std::optional<Keyed<double>> breakdown_s = {};
  std::optional<std::int64_t> breakdown_rank = {};
  std::optional<double> exposed_communication_s = {};
  std::string network = {};
  std::optional<std::int64_t> contended_ps = {};
  std::optional<StepBubble> bubble = {};
  std::optional<StepCheckpoint> checkpoint = {};
  std::optional<std::vector<StepCommunication>> communication = {};
  std::optional<StepSlowdown> held_up = {};
  std::optional<std::vector<StepStage>> stages = {};
  std::optional<std::string> bottleneck = {};
  std::optional<std::vector<StepChange>> causes = {};
  std::optional<std::vector<StepChange>> advice = {};
  std::vector<StepReplayedRank> replayed_ranks = {};
  std::vector<std::string> what_ifs = {};
  std::vector<std::string> remarks = {};
  std::vector<std::string> not_modelled = {};
  std::int64_t ranks = 0;
  std::int64_t rank_classes = 0;
  std::int64_t events = 0;
  Value job = {};  // title and settings

  /// The simulated timeline, for documents and traces.
  std::shared_ptr<const SimulatedRun> run = {};
};

/// One of several jobs on a cluster.
struct JobResult {
  std::string name;
  std::int64_t gpus = 0;
  std::string nodes;
  std::int64_t steps = 0;
  double steps_met = 0;
  double step_alone_s = 0;
  double step_time_s = 0;
  double lost_share = 0;
  std::vector<std::string> left_out = {};
  std::optional<std::int64_t> memory_peak_bytes = {};
  std::optional<std::int64_t> memory_needed_bytes = {};
  std::optional<std::int64_t> memory_usable_bytes = {};
  bool out_of_memory = false;
  bool nearly_out_of_memory = false;
};

struct SimulatedJobs;

/// Returns true if a request is for SimulateTogether: the first input is a job, and there are
/// others.
[[nodiscard]] ORRERY_API bool HoldsSeveralJobs(const SimulateRequest& request);

/// Several jobs that share a cluster, and what each loses to the others.
struct SimulateTogetherResult {
  std::string network;
  std::string cluster;
  std::vector<JobResult> jobs;
  std::vector<std::string> not_modelled;

  std::shared_ptr<const SimulatedJobs> answers = {};  // for the document

  [[nodiscard]] ORRERY_API bool AnyOutOfMemory() const;
};

/// Simulates one training step. Does not fail where the job needs more memory than its GPUs have:
/// the result says so.
[[nodiscard]] ORRERY_API Result<SimulateResult> Simulate(const Session& session,
                                                         const SimulateRequest& request);

/// Simulates several jobs on one cluster.
[[nodiscard]] ORRERY_API Result<SimulateTogetherResult> SimulateTogether(
    const Session& session, const SimulateRequest& request);

/// The step of a workload as the simulator that it was written for predicts it (`request.emulate`).
[[nodiscard]] ORRERY_API Result<report::Document> EmulateSimulator(const SimulateRequest& request);

/// The report of a result. It has pictures where the request asked for them.
[[nodiscard]] ORRERY_API report::Document MakeDocument(const SimulateResult& result);
[[nodiscard]] ORRERY_API report::Document MakeDocument(const SimulateTogetherResult& result);

/// Writes the simulated step as traces, in the format of the name: .orr, .json[.gz], .pftrace.
[[nodiscard]] ORRERY_API Status WriteTrace(const SimulateResult& result, const std::string& path);

ORRERY_HAS_FIELDS(StepEnergy);
ORRERY_HAS_FIELDS(StepUtilisation);
ORRERY_HAS_FIELDS(StepVariation);
ORRERY_HAS_FIELDS(StepBubble);
ORRERY_HAS_FIELDS(StepCheckpoint);
ORRERY_HAS_FIELDS(StepCommunication);
ORRERY_HAS_FIELDS(StepSlowdown);
ORRERY_HAS_FIELDS(StepStage);
ORRERY_HAS_FIELDS(StepChange);
ORRERY_HAS_FIELDS(StepReplayedRank);
ORRERY_HAS_FIELDS(JobResult);
ORRERY_HAS_FIELDS(SimulateRequest);
ORRERY_HAS_FIELDS(SimulateResult);
ORRERY_HAS_FIELDS(SimulateTogetherResult);

}  // namespace orrery::api
