#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/errors.h"
#include "orrery/api/input/host_input.h"
#include "orrery/api/input/job_input.h"
#include "orrery/api/input/run_input.h"
#include "orrery/api/session_state.h"
#include "orrery/api/simulate/answer.h"
#include "orrery/base/error.h"
#include "orrery/base/math/statistics.h"
#include "orrery/calibrate/replay_calibration.h"
#include "orrery/draw/format.h"
#include "orrery/hardware/cluster.h"
#include "orrery/hardware/gpu.h"
#include "orrery/ingest/run.h"
#include "orrery/kernel/estimate.h"
#include "orrery/simulate/explain/memory_timeline.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/job_file.h"
#include "orrery/workload/job/plan_yaml.h"
#include "orrery/workload/model/parameters.h"
#include "orrery/workload/program.h"
#include "orrery/workload/recorded/graph_prices.h"
#include "orrery/workload/recorded/host/host_fit.h"
#include "orrery/workload/recorded/host/host_pace.h"
#include "orrery/workload/recorded/ranks/traced_ensemble.h"
#include "orrery/workload/recorded/ranks/traced_job.h"
#include "orrery/workload/recorded/ranks/traced_rank.h"
#include "orrery/workload/recorded/repeated_layers.h"

namespace orrery::api {
namespace {

using workload::Rank;
using workload::TracedJob;
using workload::TracedRank;

namespace fs = std::filesystem;

// Heads that a generated model leaves out, and buffers that count as parameters.
constexpr double kLargestDifference = 0.01;

Status CheckDescription(const workload::Job& described, const workload::TracedJob& traced) {
  const std::int64_t parameters = workload::TotalParameters(described.model);
  if (!(std::abs(static_cast<double>(parameters - traced.parameters)) <=
        kLargestDifference * static_cast<double>(traced.parameters))) {
    return InvalidInput("it describes a model with {} parameters, and one with {} was traced",
                        draw::FormatCount(parameters), draw::FormatCount(traced.parameters));
  }
  if (traced.sequence > 0 && described.training.sequence != traced.sequence) {
    return InvalidInput("it describes samples of {} tokens, and those of {} were traced",
                        described.training.sequence, traced.sequence);
  }
  return {};
}

// Reads the description of the model in a folder's job.yaml; none where it has no such file,
// as of scripts. People may change that file: it fails where the file describes a model of another
// size, or another sequence, than the one that was traced.
Result<std::optional<workload::Job>> ReadDescribedJob(const std::string& folder,
                                                      const workload::TracedJob& traced) {
  const std::string path = (fs::path(folder) / "job.yaml").string();
  if (std::error_code error; !fs::exists(path, error)) {
    return std::optional<workload::Job>();
  }
  ORRERY_TRY(workload::JobFile file, workload::ReadJobFile(path));
  if (const Status status = CheckDescription(file.job, traced); !status) {
    return FailWithin(path, status);
  }
  return std::optional(std::move(file.job));
}

/// Steps that are simulated before the one that counts; then hosts are as far ahead as they get.
constexpr int kStepsBefore = 3;

Result<const hardware::Gpu*> TracedGpu(const TracedJob& job) {
  const hardware::Gpu* const gpu = hardware::FindGpu(job.gpu);
  if (gpu == nullptr) {
    return NotFound(
        "the job was traced on '{}', which is not in the catalogue "
        "(data/hardware/gpus.yaml)",
        job.gpu);
  }
  return gpu;
}

/// The GPU that ranks are to have: the one that is named, that of the cluster, or the traced one.
Result<const hardware::Gpu*> WantedGpu(const SimulateRequest& request,
                                       const hardware::Gpu& traced) {
  if (!request.job.gpu.empty()) {
    return GpuNamed(request.job.gpu);
  }
  const hardware::Cluster* const cluster =
      request.job.cluster.empty() ? nullptr : hardware::FindCluster(request.job.cluster);
  return cluster == nullptr ? &traced : GpuNamed(cluster->gpu);
}

// As the tracer writes it, or as packed folders have it; the first that is there.
std::string RecordingPath(const TracedRank& rank) {
  for (const char* const name : {"kineto.orr", "kineto.json.gz", "kineto.json.zst"}) {
    std::string path = rank.Path(name);
    if (std::error_code error; std::filesystem::exists(path, error)) {
      return path;
    }
  }
  return rank.Path("kineto.json");
}

Result<trace::Trace> ReadRecording(const TracedRank& rank, const CallOptions& call) {
  RunInput run;
  run.paths = {RecordingPath(rank)};
  if (std::error_code error; !std::filesystem::exists(run.paths.front(), error)) {
    return NotFound("rank {} was not recorded: {}", rank.rank,
                    rank.steps.why.empty() ? "its folder has no kineto.json.gz" : rank.steps.why);
  }
  ORRERY_TRY(ingest::Run read, ReadRun(run, call.progress));
  if (read.set.ranks.size() != 1) {
    return InvalidInput("{}: {} ranks, where one is expected", run.paths.front(),
                        read.set.ranks.size());
  }
  return std::move(read.set.ranks.front());
}

class TracedImport {
 public:
  TracedImport(const Session& session, const SimulateRequest& request, const TracedJob& job)
      : session_(session), request_(request), job_(job), roles_(job) {}

  Result<ImportedProgram> Import() {
    ORRERY_TRY(const hardware::Gpu* const traced_gpu, TracedGpu(job_));
    ORRERY_TRY(const hardware::Gpu* const gpu, WantedGpu(request_, *traced_gpu));
    imported_.gpu = gpu->name;
    imported_.framework = job_.is_sharded ? "torch-fsdp" : "pytorch";
    imported_.steps_before = kStepsBefore;
    imported_.remarks = job_.remarks;
    std::vector<workload::Program> programs;
    for (std::size_t traced = 0; traced < job_.ranks.size(); ++traced) {
      ORRERY_TRY(workload::Program program, ProgramOf(traced, *traced_gpu, *gpu));
      programs.push_back(std::move(program));
      AddMemory(job_.ranks[traced], *gpu);
    }
    const Rank world = request_.world > 0 ? static_cast<Rank>(request_.world) : job_.world;
    ORRERY_TRY(workload::TracedEnsemble all,
               workload::EnsembleOfTracedJob(job_, roles_, std::move(programs), world));
    imported_.ensemble = std::move(all.ensemble);
    imported_.samples_per_step = workload::SamplesOfStep(job_, world);
    imported_.tokens_per_sample = job_.sequence;
    AddDescription(*gpu);
    AddRemarks(all.remarks);
    imported_.title = TitleOf(*traced_gpu, *gpu);
    return std::move(imported_);
  }

 private:
  Result<workload::Program> ProgramOf(std::size_t traced, const hardware::Gpu& from,
                                      const hardware::Gpu& to) {
    const TracedRank& rank = job_.ranks[traced];
    ORRERY_TRY(trace::Trace recording, ReadRecording(rank, request_.call));
    ORRERY_TRY(const calibrate::ReplayCalibration calibration,
               calibrate::CalibrateReplay(recording, rank.steps));
    ORRERY_TRY(const trace::Trace adapted, Adapted(std::move(recording), from, to));
    ORRERY_TRY(workload::TracedProgram program,
               workload::ProgramOfTracedRank({.job = &job_,
                                              .traced_rank = traced,
                                              .roles = &roles_,
                                              .recording = &adapted,
                                              .host = &calibration.host,
                                              .profiler_cost_ns = calibration.profiler_cost_ns,
                                              .gpu = &to}));
    AddRemarks(program.remarks);
    AddMeasured(rank, calibration);
    ORRERY_TRY_STATUS(MoveToHost(adapted, program.recorded.program));
    return std::move(program.recorded.program);
  }

  // Scales the host's times to the host that was asked for.
  Status MoveToHost(const trace::Trace& recording, workload::Program& program) {
    if (request_.host.empty()) {
      return {};
    }
    ORRERY_TRY(const NamedHost host, ReadHost(request_.host, {}, request_.call.progress));
    workload::HostFit fit;
    fit.Add(recording);
    const workload::RecordedPace own = workload::PaceOf(fit.Fit({}), host.choice.model);
    if (own.operators == 0) {
      return InvalidInput(
          "--host {}: too few known operators launch in the recording to tell its own host's speed",
          request_.host);
    }
    const workload::HostPace wanted = host.choice.pace.value_or(workload::HostPace{});
    workload::ScaleHost({.operators = wanted.operators / own.ratio,
                         .program = wanted.program / own.ratio,
                         .launches = wanted.launches / own.ratio},
                        program);
    AddRemarks(
        {fmt::format("CPU: {}; the traced host took {:.2f} times the reference's, by {} "
                     "operators.",
                     host.source, own.ratio, own.operators)});
    return {};
  }

  // Adds parts that were not traced: more layers, another GPU.
  Result<trace::Trace> Adapted(trace::Trace recording, const hardware::Gpu& from,
                               const hardware::Gpu& to) {
    if (HasFewerLayers()) {
      ORRERY_TRY(recording, workload::RepeatLayers(std::move(recording),
                                                   {.traced = job_.traced_layers,
                                                    .wanted = job_.layers,
                                                    .layer_parameters = job_.layer_parameters,
                                                    .parameters = job_.parameters}));
    }
    if (&from != &to) {
      ORRERY_TRY(const std::shared_ptr<const kernel::CostModel> costs,
                 session_.state().Costs(request_.job.kernel_models));
      const std::string remark =
          workload::RemarkOn(workload::ScaleToGpu(from, to, *costs, recording));
      if (!remark.empty()) {
        AddRemarks({remark});
      }
    }
    return recording;
  }

  [[nodiscard]] bool HasFewerLayers() const { return job_.traced_layers < job_.layers; }

  void AddMeasured(const TracedRank& rank, const calibrate::ReplayCalibration& calibration) {
    if (rank.steps.step_ms.empty()) {
      return;
    }
    imported_.replayed.push_back(
        {.rank = rank.rank,
         .step_ms = Mean(rank.steps.step_ms),
         .profiler_cost_us = calibration.profiler_cost_ns * 1e-3,
         .cost_source = std::string(calibrate::ProfilerCostSourceName(calibration.source))});
    imported_.remarks.push_back(fmt::format(
        "Rank {} alone took {} per step without the profiler; {:.2f} us of CPU time for each "
        "recorded event are the profiler's (from {}).",
        rank.rank,
        draw::FormatDuration({static_cast<std::int64_t>((Mean(rank.steps.step_ms)) * 1e6)}),
        calibration.profiler_cost_ns * 1e-3,
        calibrate::ProfilerCostSourceName(calibration.source)));
  }

  // That of fewer layers says little.
  void AddMemory(const TracedRank& rank, const hardware::Gpu& gpu) {
    if (HasFewerLayers()) {
      return;
    }
    imported_.memory_of_program.push_back({.peak_bytes = rank.steps.peak_allocated_bytes,
                                           .needed_bytes = rank.steps.peak_reserved_bytes,
                                           .usable_bytes = simulate::UsableBytes(gpu),
                                           .parts = {}});
  }

  // Adds the description of the model; a model without one does not end a simulation.
  void AddDescription(const hardware::Gpu& gpu) {
    Result<std::optional<workload::Job>> described = ReadDescribedJob(request_.from, job_);
    if (!described) {
      AddRemarks({fmt::format("No utilisation: {}.", described.error().message())});
      return;
    }
    imported_.described = std::move(*described);
    if (imported_.described) {
      imported_.described->gpu = gpu;
      imported_.described->gpus = static_cast<int>(imported_.ensemble.num_ranks());
      imported_.described->training.global_batch = imported_.samples_per_step;
    }
  }

  // Adds remarks that earlier ranks did not have.
  void AddRemarks(const std::vector<std::string>& remarks) {
    for (const std::string& remark : remarks) {
      if (std::find(imported_.remarks.begin(), imported_.remarks.end(), remark) ==
          imported_.remarks.end()) {
        imported_.remarks.push_back(remark);
      }
    }
  }

  [[nodiscard]] std::string TitleOf(const hardware::Gpu& from, const hardware::Gpu& to) const {
    const std::uint32_t ranks = imported_.ensemble.num_ranks();
    return fmt::format(
        "{}{}: traced on {}{}, {}{} rank{}{}", job_.name,
        job_.parameters == 0
            ? ""
            : fmt::format(" ({} parameters)", workload::ParametersText(job_.parameters)),
        from.name, &from == &to ? "" : ", simulated on " + to.name,
        job_.plan_kind.empty() ? "" : job_.plan_kind + ", ", ranks, ranks == 1 ? "" : "s",
        ranks == job_.world ? "" : fmt::format(" (of {} traced)", job_.world));
  }

  const Session& session_;
  const SimulateRequest& request_;
  const TracedJob& job_;
  workload::TracedGroupRoles roles_;
  ImportedProgram imported_;
};

}  // namespace

Result<ImportedProgram> ImportTracedJob(const Session& session, const SimulateRequest& request) {
  if (!request.job.settings.empty()) {
    return InvalidInput(
        "--set needs a job that is generated; a traced one is what was recorded (its "
        "job.yaml, where it has one, can be changed)");
  }
  ORRERY_TRY(const TracedJob job, workload::ReadTracedJob(request.from));
  Result<ImportedProgram> imported = TracedImport(session, request, job).Import();
  if (!imported) {
    return FailWithin(request.from, imported);
  }
  return imported;
}

}  // namespace orrery::api
