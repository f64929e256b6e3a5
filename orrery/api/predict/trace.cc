#include "orrery/trace/trace.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "orrery/api/cancellation.h"
#include "orrery/api/errors.h"
#include "orrery/api/input/host_input.h"
#include "orrery/api/input/job_input.h"
#include "orrery/api/input/run_input.h"
#include "orrery/api/predict.h"
#include "orrery/api/predict/operator_errors.h"
#include "orrery/api/predict/trace_answer.h"
#include "orrery/api/predict/trace_notes.h"
#include "orrery/api/session_state.h"
#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/base/math/statistics.h"
#include "orrery/hardware/cluster.h"
#include "orrery/hardware/gpu.h"
#include "orrery/ingest/run.h"
#include "orrery/kernel/estimate.h"
#include "orrery/kernel/model_set.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/ensemble_trace.h"
#include "orrery/simulate/network/group_times.h"
#include "orrery/simulate/recorded_job.h"
#include "orrery/simulate/replay.h"
#include "orrery/trace/clock/clock_alignment.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/orr/orr.h"
#include "orrery/trace/problems.h"
#include "orrery/trace/trace_set.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/program.h"
#include "orrery/workload/recorded/call_tree.h"
#include "orrery/workload/recorded/graph_prices.h"
#include "orrery/workload/recorded/host/host_model.h"
#include "orrery/workload/recorded/host/host_pace.h"
#include "orrery/workload/recorded/host/replayed_host.h"
#include "orrery/workload/recorded/recorded.h"

namespace orrery::api {
namespace {

// The median duration of the measured steps; 0 without any.
double MeasuredStepSeconds(const trace::Trace& measured) {
  std::vector<double> steps;
  for (const std::int64_t duration_ns : measured.steps.duration_ns) {
    steps.push_back(static_cast<double>(duration_ns) * 1e-9);
  }
  return steps.empty() ? 0 : Median(steps);
}

constexpr std::size_t kWorstOperators = 10;

constexpr std::string_view kMeasuredKernels = "measured";
constexpr std::string_view kModelledKernels = "model";

Result<ingest::Run> ReadPaths(const PredictTraceRequest& request, std::vector<std::string> paths) {
  RunInput input = request.run;
  input.paths = std::move(paths);
  return ReadRun(input, request.call.progress);
}

Result<ingest::Run> ReadRank(const PredictTraceRequest& request, const std::string& path) {
  ORRERY_TRY(ingest::Run run, ReadPaths(request, {path}));
  if (run.set.ranks.size() != 1) {
    return InvalidInput("{}: {} ranks; give the file of one", path, run.set.ranks.size());
  }
  return run;
}

// A step that is not complete is predicted too short, and the reader must know.
void NoteLosses(const ingest::Run& run, std::vector<std::string>& remarks) {
  const auto note = [&](const trace::ProblemLog& problems) {
    for (const trace::Problem& problem : problems.all()) {
      if (problem.severity == trace::Severity::kLoss) {
        remarks.push_back(fmt::format("part of the input could not be read: {}{}", problem.what,
                                      problem.first.empty() ? "" : " (" + problem.first + ")"));
      }
    }
  };
  note(run.set.problems);
  std::ranges::for_each(run.set.ranks, note, &trace::Trace::problems);
}

Result<const hardware::Gpu*> WantedGpu(const PredictTraceRequest& request) {
  if (request.gpu.empty()) {
    return InvalidInput("--gpu NAME says for which GPU to predict");
  }
  return GpuNamed(request.gpu);
}

bool IsRecording(const trace::Trace& rank) {
  return !rank.activities.empty() && !rank.host_ops.empty();
}

// Rescales the kernels of a recording to the GPU that was asked for, where that is another one.
Status RescaleRecording(const Session& session, const PredictTraceRequest& request,
                        trace::Trace& rank, Prediction& prediction) {
  prediction.kernels = "as recorded";
  if (request.gpu.empty()) {
    return {};
  }
  ORRERY_TRY(const hardware::Gpu* const to, GpuNamed(request.gpu));
  const std::string recorded = trace::DeviceName(rank);
  const hardware::Gpu* const from = hardware::FindGpu(recorded);
  if (from == to) {
    return {};
  }
  if (from == nullptr) {
    return InvalidInput(
        "{}: recorded on {}, so its kernel times cannot be rescaled to {}; leave out --gpu, or use "
        "--kernels model with an execution trace",
        request.trace,
        recorded.empty() ? "a GPU it does not name"
                         : fmt::format("'{}', which is not in the catalogue", recorded),
        to->name);
  }
  ORRERY_TRY(const std::shared_ptr<const kernel::ModelSet> models,
             session.state().Models(request.models));
  const workload::ScalingSummary scaled = workload::ScaleToGpu(*from, *to, *models, rank);
  prediction.kernels =
      fmt::format("as recorded on {}, rescaled to {} by the kernel models", from->name, to->name);
  prediction.pricing.seconds += scaled.Seconds();
  prediction.pricing.unmodelled_s += scaled.UnmodelledSeconds();
  if (const std::string remark = workload::RemarkOn(scaled); !remark.empty()) {
    prediction.not_modelled.push_back(remark);
  }
  return {};
}

Result<workload::RecordedProgram> ProgramOfKernels(const Session& session,
                                                   const PredictTraceRequest& request,
                                                   trace::Trace& rank,
                                                   const workload::HostChoice& host,
                                                   Prediction& prediction) {
  ORRERY_TRY_STATUS(RescaleRecording(session, request, rank, prediction));
  return workload::ProgramOfMiddleStep(rank, host);
}

workload::HostModel ModelAtPace(const workload::HostChoice& host) {
  return workload::AtPace(host.model, host.pace.value_or(workload::HostPace{}));
}

constexpr double kLeastShareSaid = 0.001;

void NoteUnknown(const workload::GraphPrices& prices, Prediction& prediction) {
  if (prices.summary.unknown_calls > 0) {
    prediction.not_modelled.push_back(fmt::format(
        "{} calls are unknown to the models and estimated from the bytes of their tensors: {}",
        prices.summary.unknown_calls, fmt::join(prices.unknown_names, ", ")));
  }
  if (const double share = prices.summary.ByBytesShare(); share >= kLeastShareSaid) {
    prediction.not_modelled.push_back(fmt::format(
        "{:.1f} % of the GPU time is estimated from bytes and the throughput that was measured for "
        "operators of these names: {}",
        100 * share, fmt::join(prices.measured_names, ", ")));
  }
}

Result<workload::RecordedProgram> ProgramOfModels(const Session& session,
                                                  const PredictTraceRequest& request,
                                                  const trace::Trace& rank,
                                                  const workload::HostModel& host,
                                                  Prediction& prediction) {
  ORRERY_TRY(const hardware::Gpu* const gpu, WantedGpu(request));
  ORRERY_TRY(const std::shared_ptr<const kernel::ModelSet> models,
             session.state().Models(request.models));
  auto steps = workload::GraphSteps(rank);
  if (!steps) {
    return FailWithin(request.trace, steps);
  }
  const workload::CallTree& step = workload::MiddleStep(*steps);
  const kernel::MemoizedCostModel costs(*models, *gpu);  // layers repeat
  const workload::GraphPrices prices =
      workload::PriceGraph(rank, step, *gpu, costs, host, request.tf32);
  if (const std::int64_t replayed = workload::NumReplayedGraphs(rank, step, prices); replayed > 0) {
    return Unsupported(
        "{}: {} calls of compiled code replay CUDA graphs, whose kernels are not in "
        "an execution trace; predict from a recording of the profiler",
        request.trace, replayed);
  }
  prediction.kernels = "from models";
  prediction.is_priced = true;
  prediction.pricing = prices.summary;
  prediction.not_modelled.emplace_back(
      "an execution trace does not say which kernels run on which stream: all run on one");
  NoteUnknown(prices, prediction);
  const workload::PriceNode price = [&](RowId node) { return prices.tasks_of_node[node]; };
  return workload::ProgramOfGraph(rank, step, host, price);
}

// A recording says more than an execution trace of the same job: its launches, streams and waits.
Result<workload::RecordedProgram> ProgramOf(const Session& session,
                                            const PredictTraceRequest& request, trace::Trace& rank,
                                            const workload::HostChoice& host,
                                            Prediction& prediction) {
  const bool is_recording = IsRecording(rank);
  if (is_recording && request.kernels != kModelledKernels) {
    return ProgramOfKernels(session, request, rank, host, prediction);
  }
  if (rank.graph_nodes.empty()) {
    return is_recording ? Unsupported("{}: models estimate execution traces, and this is none",
                                      request.trace)
                        : InvalidInput(
                              "{}: neither an execution trace nor a recording with "
                              "operators and kernels",
                              request.trace);
  }
  if (request.kernels == kMeasuredKernels) {
    return InvalidInput("{}: no recorded kernels; give the recording with --kineto", request.trace);
  }
  return ProgramOfModels(session, request, rank, ModelAtPace(host), prediction);
}

Status Compare(const PredictTraceRequest& request, const workload::Program& program,
               Prediction& prediction) {
  if (request.measured.empty()) {
    return {};
  }
  ORRERY_TRY(const ingest::Run run, ReadRank(request, request.measured));
  NoteLosses(run, prediction.not_modelled);
  prediction.is_partial |= run.is_partial();
  const trace::Trace& measured = run.set.ranks[0];
  prediction.measured_step_s = MeasuredStepSeconds(measured);
  prediction.worst = WorstOperators(program, measured, kWorstOperators);
  return {};
}

Result<simulate::Timeline> Replay(const PredictTraceRequest& request,
                                  const workload::Program& program) {
  auto timeline = simulate::SimulateRecording(program, request.repetitions);
  if (!timeline) {
    return InvalidInput(
        "{}: {}; predict from the recording of the job instead, which has the "
        "order of launches and waits",
        request.trace, timeline.error().message());
  }
  return timeline;
}

// A setting of the framework, which only kernels tell: the step with the other one is said, too.
Status NotePrecision(const Session& session, const PredictTraceRequest& request,
                     const trace::Trace& rank, const workload::HostModel& host,
                     Prediction& prediction) {
  const workload::PricingSummary& pricing = prediction.pricing;
  const double share = pricing.seconds > 0 ? pricing.fp32_products_s / pricing.seconds : 0;
  if (!prediction.is_priced || request.tf32 || share < kLeastShareSaid) {
    return {};
  }
  PredictTraceRequest allowed = request;
  allowed.tf32 = true;
  Prediction other;
  ORRERY_TRY(const workload::RecordedProgram recorded,
             ProgramOfModels(session, allowed, rank, host, other));
  ORRERY_TRY(const simulate::Timeline timeline, Replay(allowed, recorded.program));
  prediction.tf32_step_ps = simulate::FiguresOf(recorded.program, timeline).step_ps;
  prediction.not_modelled.push_back(fmt::format(
      "matrix products of fp32, {:.1f} % of the GPU time, are taken as true fp32, PyTorch's "
      "default; with TF32, which the trace does not say and --tf32 does, the step takes {:.3f} ms",
      100 * share, static_cast<double>(prediction.tf32_step_ps) / 1e9));
  return {};
}

Result<PredictTraceResult> PredictOne(const Session& session, const PredictTraceRequest& request,
                                      const NamedHost& host, ingest::Run& run) {
  trace::Trace& rank = run.set.ranks[0];
  Prediction prediction{.path = request.trace,
                        .gpu = request.gpu.empty() ? "the recorded GPU" : request.gpu,
                        .host = host.source,
                        .is_host_known = !request.host.empty(),
                        .has_own_pace = !host.choice.pace.has_value(),
                        .is_partial = run.is_partial()};
  NoteLosses(run, prediction.not_modelled);
  ORRERY_TRY(workload::RecordedProgram recorded,
             ProgramOf(session, request, rank, host.choice, prediction));
  prediction.coverage = recorded.coverage;
  prediction.pace = recorded.pace;
  NoteGaps(rank, recorded, prediction);
  NoteRecomputation(host.choice.model, prediction);
  NoteLoader(rank, recorded, prediction);
  ORRERY_TRY(simulate::Timeline timeline, Replay(request, recorded.program));
  prediction.figures = simulate::FiguresOf(recorded.program, timeline);
  if (prediction.figures.active_ps == 0) {
    return InvalidInput("{}: nothing in its step runs on the GPU, so there is no step to predict",
                        request.trace);
  }
  NoteUnseenLoader(rank, recorded, prediction);
  ORRERY_TRY_STATUS(NotePrecision(session, request, rank, ModelAtPace(host.choice), prediction));
  ORRERY_TRY_STATUS(Compare(request, recorded.program, prediction));
  PredictTraceResult result = MakeResult(prediction);
  result.replayed =
      std::make_shared<const ReplayedStep>(ReplayedStep{.program = std::move(recorded.program),
                                                        .timeline = std::move(timeline),
                                                        .gpu = request.gpu,
                                                        .threads = request.run.threads});
  return result;
}

// The machine on which ranks talk: the one of that name, or one that has the GPU.
Result<const hardware::Cluster*> WantedCluster(const PredictTraceRequest& request) {
  if (!request.cluster.empty()) {
    return ClusterNamed(request.cluster);
  }
  if (!request.gpu.empty()) {
    ORRERY_TRY(const hardware::Gpu* const gpu, GpuNamed(request.gpu));
    if (const hardware::Cluster* const cluster = hardware::FindCluster(gpu->name)) {
      return cluster;
    }
  }
  return InvalidInput("--cluster NAME says on which machine the ranks communicate");
}

// Predicts one step of all ranks. Aligns the clocks of the set.
Status PredictRanks(trace::TraceSet& set, const kernel::ModelSet& models,
                    RanksPrediction& prediction) {
  static_cast<void>(trace::MatchAndAlign(set));
  workload::Job machine;
  machine.gpus = static_cast<int>(set.ranks.size());
  machine.cluster = *prediction.cluster;
  ORRERY_TRY(const std::unique_ptr<simulate::ClusterTimes> times,
             simulate::ClusterTimes::Of(machine));
  const simulate::IslandLinkClass links(
      static_cast<std::uint32_t>(std::max(prediction.cluster->island.gpus, 1)));
  simulate::RecordedJobSources sources{.times = times.get(),
                                       .links = &links,
                                       .gpu = prediction.gpu,
                                       .costs = nullptr,
                                       .host = prediction.host};
  std::optional<kernel::MemoizedCostModel> costs;
  if (prediction.gpu != nullptr) {
    costs.emplace(models, *prediction.gpu);
    sources.costs = &*costs;
  }
  ORRERY_TRY(prediction.job, simulate::PredictRecordedJob(set, sources));
  return {};
}

Result<PredictTraceResult> PredictAll(const Session& session, const PredictTraceRequest& request,
                                      const NamedHost& host, ingest::Run& run) {
  if (!request.measured.empty()) {
    return Unsupported("{}: several ranks; --measured is for one", request.trace);
  }
  trace::TraceSet& set = run.set;
  const bool are_recorded = std::all_of(set.ranks.begin(), set.ranks.end(), IsRecording);
  RanksPrediction ranks{.path = request.trace, .host_source = host.source};
  const workload::HostModel at_pace = ModelAtPace(host.choice);
  ranks.host = request.host.empty() ? nullptr : &at_pace;
  ORRERY_TRY(ranks.cluster, WantedCluster(request));
  if (request.kernels == kModelledKernels || !are_recorded) {
    ORRERY_TRY(ranks.gpu, WantedGpu(request));
    ranks.kernels = "from models for " + ranks.gpu->name;
  }
  if (request.kernels == kMeasuredKernels && !are_recorded) {
    return InvalidInput("{}: not every rank has recorded kernels", request.trace);
  }
  for (std::size_t rank = 0; ranks.gpu == nullptr && rank < set.ranks.size(); ++rank) {
    Prediction rescaled;
    ORRERY_TRY_STATUS(RescaleRecording(session, request, set.ranks[rank], rescaled));
    ranks.kernels = rescaled.kernels;
    ranks.pricing.Add(rescaled.pricing);
    ranks.not_modelled = rescaled.not_modelled;
  }
  NoteLosses(run, ranks.not_modelled);
  ORRERY_TRY(const std::shared_ptr<const kernel::ModelSet> models,
             session.state().Models(request.models));
  const Status predicted = PredictRanks(set, *models, ranks);
  if (!predicted) {
    return FailWithin(request.trace, predicted);
  }
  PredictTraceResult result = MakeResult(ranks);
  result.is_partial = run.is_partial();
  return result;
}

Result<PredictTraceResult> Predict(const Session& session, const PredictTraceRequest& request) {
  if (request.trace.empty()) {
    return InvalidInput("TRACE is required (orrery predict --help)");
  }
  std::vector<std::string> paths{request.trace};
  if (!request.kineto.empty()) {
    paths.push_back(request.kineto);
  }
  ORRERY_TRY(const NamedHost host, ReadHost(request.host, request.run, request.call.progress));
  ORRERY_TRY(ingest::Run run, ReadPaths(request, paths));
  return run.set.ranks.size() == 1 ? PredictOne(session, request, host, run)
                                   : PredictAll(session, request, host, run);
}

}  // namespace

Result<PredictTraceResult> PredictTrace(const Session& session,
                                        const PredictTraceRequest& request) {
  return RunCancellable(request.call, [&] { return Predict(session, request); });
}

Status WriteTrace(const PredictTraceResult& result, const std::string& path) {
  if (result.replayed == nullptr) {
    return Unsupported("{}: several ranks; --output is for one", result.trace);
  }
  const ReplayedStep& replayed = *result.replayed;
  trace::TraceSet set;
  set.ranks = simulate::EnsembleTrace(simulate::SingleRank(replayed.program), replayed.timeline,
                                      {.gpu = replayed.gpu, .marks_training_loop = true})
                  .ranks;
  return trace::WriteOrr(set, path, {.threads = replayed.threads});
}

}  // namespace orrery::api
