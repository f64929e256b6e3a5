#include "orrery/api/fields.h"

#include <array>
#include <limits>
#include <string_view>

#include "orrery/api/fields/field_parts.h"
#include "orrery/api/fields/run_fields.h"
#include "orrery/api/predict.h"

namespace orrery::api {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

constexpr auto kKernelTimes = std::to_array<std::string_view>({"auto", "measured", "model"});

constexpr auto kTraceFields = std::to_array<Field<PredictTraceRequest>>({
    MakeField<&PredictTraceRequest::trace>(
        "trace", "",
        "execution trace or recording of one rank, or a folder with the execution traces of all "
        "ranks"),
    MakeField<&PredictTraceRequest::gpu>("gpu", "", "GPU to predict for").Placeholder("NAME"),
    MakeField<&PredictTraceRequest::models>(
        "model", "",
        "times of operators, from `orrery fit kernels`, instead of the shipped ones; may be "
        "repeated")
        .Placeholder("FILE")
        .Repeats(),
    MakeField<&PredictTraceRequest::host>(
        "host", "",
        "host to predict for: a name (orrery list hosts), what `orrery measure host` or `orrery "
        "fit "
        "host` wrote, or a recording made on it (default: of a recording its own, else the "
        "reference)")
        .Placeholder("FILE|NAME"),
    MakeField<&PredictTraceRequest::cluster>(
        "cluster", "", "machine on which several ranks communicate (default: one with the GPU)")
        .Placeholder("NAME"),
    MakeField<&PredictTraceRequest::kineto>("kineto", "",
                                            "recording of the same job, for an execution trace")
        .Placeholder("FILE"),
    MakeField<&PredictTraceRequest::kernels>(
        "kernels", "", "times of kernels: measured in the recording, or of the models")
        .Choices(kKernelTimes)
        .ShowsDefault(),
    MakeField<&PredictTraceRequest::tf32>(
        "tf32", "",
        "the program allows TF32 in matrix products of fp32, which an execution trace does not say"),
    MakeField<&PredictTraceRequest::measured>(
        "measured", "", "recording to compare with: names the ten operators predicted worst")
        .Placeholder("FILE"),
    MakeField<&PredictTraceRequest::repetitions>("repetitions", "", "how many steps to simulate")
        .ShowsDefault()
        .Range(2, 1000),
});

constexpr auto kTraceRequest =
    JoinFields(kTraceFields, PartFields<&PredictTraceRequest::run, kRunOptionFields>());

constexpr auto kModels = std::to_array<Field<PredictedModels>>({
    MakeField<&PredictedModels::calls>("calls", "", "estimated calls of the graph"),
    MakeField<&PredictedModels::unknown_calls>(
        "unknown_calls", "", "unknown calls, estimated from the bytes of their tensors"),
    MakeField<&PredictedModels::operators_of_this_gpu>("operators_of_this_gpu", "",
                                                       "operators measured on this GPU"),
    MakeField<&PredictedModels::operators_of_siblings>("operators_of_siblings", "",
                                                       "operators estimated from sibling GPUs"),
    MakeField<&PredictedModels::operators_of_all_gpus>("operators_of_all_gpus", "",
                                                       "operators estimated from all GPUs"),
    MakeField<&PredictedModels::operators_by_roofline>("operators_by_roofline", "",
                                                       "operators estimated by the roofline"),
    MakeField<&PredictedModels::operators_extrapolated>("operators_extrapolated", "",
                                                        "operators outside the measured range"),
});

constexpr auto kHost = std::to_array<Field<PredictedHost>>({
    MakeField<&PredictedHost::source>("source", "", "source of the costs of the host"),
    MakeField<&PredictedHost::operators>("operators", "", "operators of the step").IfKnown(),
    MakeField<&PredictedHost::recomputed_operators>(
        "recomputed_operators", "", "operators of the forward pass that the backward pass repeats")
        .IfKnown(),
    MakeField<&PredictedHost::launches>("launches", "", "launches of the step").IfKnown(),
    MakeField<&PredictedHost::waits>("waits", "", "waits for the GPU").IfKnown(),
    MakeField<&PredictedHost::costs_by_name>("costs_by_name", "", "costs known for the operator")
        .IfKnown(),
    MakeField<&PredictedHost::costs_as_recorded>(
        "costs_as_recorded", "", "costs of the replayed recording, less the profiler's share")
        .IfKnown(),
    MakeField<&PredictedHost::costs_by_kind>("costs_by_kind", "", "costs of operators of the kind")
        .IfKnown(),
    MakeField<&PredictedHost::costs_global>("costs_global", "", "costs of all operators together")
        .IfKnown(),
    MakeField<&PredictedHost::costs_unknown>("costs_unknown", "", "costs that are not known: zero")
        .IfKnown(),
    MakeField<&PredictedHost::pace>(
        "pace", "", "times of the recording's host over those of the reference, without a profiler")
        .IfKnown(),
    MakeField<&PredictedHost::pace_under_profiler>("pace_under_profiler", "",
                                                   "the same while the profiler ran")
        .IfKnown(),
    MakeField<&PredictedHost::pace_operators>("pace_operators", "",
                                              "operators that the pace is estimated from")
        .IfKnown(),
    MakeField<&PredictedHost::profiler_us>("profiler_us", "us",
                                           "time of the profiler inside an operator")
        .IfKnown(),
    MakeField<&PredictedHost::operators_s>("operators_s", "s",
                                           "CPU time of operators and launches in a step")
        .IfKnown(),
    MakeField<&PredictedHost::program_s>("program_s", "s",
                                         "CPU time of the program between operators")
        .IfKnown(),
    MakeField<&PredictedHost::loader_batch_s>(
        "loader_batch_s", "s", "time from batch to batch of a DataLoader that the step waits for")
        .IfKnown(),
});

constexpr auto kOperator = std::to_array<Field<PredictedOperator>>({
    MakeField<&PredictedOperator::name>("name", "", "operator"),
    MakeField<&PredictedOperator::calls>("calls", "", "calls in a step"),
    MakeField<&PredictedOperator::predicted_s>("predicted_s", "s", "predicted time of its kernels"),
    MakeField<&PredictedOperator::measured_s>("measured_s", "s", "measured time of its kernels"),
});

constexpr auto kRank = std::to_array<Field<PredictedRank>>({
    MakeField<&PredictedRank::rank>("rank", "", "rank"),
    MakeField<&PredictedRank::begin_s>("begin_s", "s",
                                       "recorded start of the step relative to the first rank"),
    MakeField<&PredictedRank::step_time_s>("step_time_s", "s",
                                           "from its start to the end of its host work"),
    MakeField<&PredictedRank::wait_for_ranks_s>("wait_for_ranks_s", "s",
                                                "time its collectives wait for other ranks"),
    MakeField<&PredictedRank::measured_step_s>("measured_step_s", "s", "step of its recording")
        .IfKnown(),
    MakeField<&PredictedRank::error>("error", "", "predicted over measured, less one").IfKnown(),
});

using TraceResult = PredictTraceResult;

bool IsMeasured(const TraceResult& result) {
  return result.measured_step_s.has_value();
}

bool HasRanks(const TraceResult& result) {
  return result.cluster.has_value();
}

constexpr auto kTraceResult = std::to_array<Field<TraceResult>>({
    MakeField<&TraceResult::trace>("trace", "", "the request"),
    MakeField<&TraceResult::gpu>("gpu", "", "the request, or the recorded GPU"),
    MakeField<&TraceResult::cluster>("cluster", "", "machine on which ranks communicate").IfKnown(),
    MakeField<&TraceResult::step_time_s>("step_time_s", "s",
                                         "from the end of one step to the end of the next")
        .IfKnown(),
    MakeField<&TraceResult::low_s>(
        "low_s", "s", "low end of the 80 % interval; without step_time_s all that is known")
        .IfKnown(),
    MakeField<&TraceResult::high_s>("high_s", "s", "high end of the 80 % interval").IfKnown(),
    MakeField<&TraceResult::active_time_s>("active_time_s", "s", "some GPU stream is busy")
        .IfKnown(),
    MakeField<&TraceResult::host_bound>("host_bound", "",
                                        "share of the step in which the GPU waits for the host")
        .IfKnown(),
    MakeField<&TraceResult::idle_for_host_s>("idle_for_host_s", "s", "the same as time").IfKnown(),
    MakeField<&TraceResult::idle_other_s>("idle_other_s", "s", "no stream is busy otherwise")
        .IfKnown(),
    MakeField<&TraceResult::kernels>("kernels", "", "tasks on streams in a step").IfKnown(),
    MakeField<&TraceResult::kernel_times>("kernel_times", "", "source of kernel times"),
    MakeField<&TraceResult::unmodelled_share>(
        "unmodelled_share", "", "share of the GPU time that rests on bytes and bandwidth alone"),
    MakeField<&TraceResult::models>("models", "", "estimates of operators").IfKnown(),
    MakeField<&TraceResult::host>("host", "", "costs of the host"),
    MakeField<&TraceResult::measured_step_s>("measured_step_s", "s",
                                             "median step of the recording to compare with")
        .IfKnown(),
    MakeField<&TraceResult::worst_operators>("worst_operators", "",
                                             "operators with the largest error in kernel time")
        .When(&IsMeasured),
    MakeField<&TraceResult::ranks>("ranks", "", "steps of single ranks").When(&HasRanks),
    MakeField<&TraceResult::not_modelled>("not_modelled", "", "sentences"),
});

constexpr auto kKernelsRequest = std::to_array<Field<PredictKernelsRequest>>({
    MakeField<&PredictKernelsRequest::operators>(
        "operators", "", "such as 'gemm m=4096 n=4096 k=4096 bf16'; docs/formats/operators.md")
        .Placeholder("OPERATOR"),
    MakeField<&PredictKernelsRequest::gpu>("gpu", "", "GPU to predict for").Placeholder("NAME"),
    MakeField<&PredictKernelsRequest::sustained>(
        "sustained", "", "repeated for hours at the board's power limit, instead of a burst"),
    MakeField<&PredictKernelsRequest::power>("power", "",
                                             "another power limit in watts, with --sustained")
        .Range(1, kUnlimited),
    MakeField<&PredictKernelsRequest::models>(
        "model", "",
        "model file of `orrery fit kernels`, instead of the shipped ones; may be repeated")
        .Placeholder("FILE")
        .Repeats(),
});

constexpr auto kKernel = std::to_array<Field<PredictedKernel>>({
    MakeField<&PredictedKernel::op>("operator", "", "canonical text of the operator"),
    MakeField<&PredictedKernel::gpu>("gpu", "", "name in the catalogue"),
    MakeField<&PredictedKernel::time_s>("time_s", "s", "durations of all its kernels together"),
    MakeField<&PredictedKernel::low_s>("low_s", "s", "low end of the 80 % interval"),
    MakeField<&PredictedKernel::high_s>("high_s", "s", "high end of the 80 % interval"),
    MakeField<&PredictedKernel::uncertainty>("uncertainty", "", "relative, one standard deviation"),
    MakeField<&PredictedKernel::roofline_s>("roofline_s", "s", "lower bound by the roofline"),
    MakeField<&PredictedKernel::flops>("flops", "FLOP", "minimum work"),
    MakeField<&PredictedKernel::bytes>("bytes", "bytes", "minimum traffic"),
    MakeField<&PredictedKernel::source>("source", "",
                                        "this GPU, sibling GPU, all GPUs or roofline"),
    MakeField<&PredictedKernel::extrapolated>("extrapolated", "", "outside the measured range"),
    MakeField<&PredictedKernel::alignment_from>("alignment_from", "",
                                                "GPU whose cost of unaligned sizes was used")
        .IfKnown(),
    MakeField<&PredictedKernel::library_factor>("library_factor", "",
                                                "times longer than the fastest kernels of a "
                                                "search, which were measured, a library is taken "
                                                "to need")
        .IfKnown(),
});

constexpr auto kKernelsResult = std::to_array<Field<PredictKernelsResult>>({
    MakeField<&PredictKernelsResult::kernels>("kernels", "", "operators in the order requested"),
});

constexpr auto kCollectiveRequest = std::to_array<Field<PredictCollectiveRequest>>({
    MakeField<&PredictCollectiveRequest::collective>("collective", "",
                                                     "such as 'allreduce 64MiB bf16'"),
    MakeField<&PredictCollectiveRequest::cluster>("cluster", "", "machine (orrery list clusters)")
        .Placeholder("NAME"),
    MakeField<&PredictCollectiveRequest::gpus>("gpus", "", "number of GPUs, filled node by node"),
    MakeField<&PredictCollectiveRequest::gpus_per_node>("gpus_per_node", "",
                                                        "GPUs used per node (all)"),
    MakeField<&PredictCollectiveRequest::env>(
        "env", "", "environment variables of NCCL, such as NCCL_ALGO=Ring,NCCL_PROTO=^LL128")
        .Placeholder("TEXT"),
    MakeField<&PredictCollectiveRequest::nccl>("nccl", "", "version of NCCL (the model's)")
        .Placeholder("VERSION"),
    MakeField<&PredictCollectiveRequest::model>(
        "model", "", "constants of `orrery fit collectives`, instead of the shipped ones")
        .Placeholder("FILE"),
    MakeField<&PredictCollectiveRequest::matrix>(
        "matrix", "",
        "for alltoallv: a CSV of as many columns as ranks, a header, and what each rank "
        "sends to each")
        .Placeholder("FILE"),
    MakeField<&PredictCollectiveRequest::emulate>(
        "emulate", "", "predict as another simulator does: astra-sim or simai; needs no cluster")
        .Placeholder("MODEL"),
    MakeField<&PredictCollectiveRequest::settings>(
        "with", "", "settings of the model that is emulated, such as npus=8,bandwidth=50")
        .Placeholder("KEY=VALUE,..."),
    MakeField<&PredictCollectiveRequest::flow>(
        "flow", "", "simulate flows over the links of the cluster, and name the bottleneck link"),
});

constexpr auto kCollectiveResult = std::to_array<Field<PredictCollectiveResult>>({
    MakeField<&PredictCollectiveResult::collective>("collective", "", "kind of the collective"),
    MakeField<&PredictCollectiveResult::bytes>("bytes", "bytes", "size").IfKnown(),
    MakeField<&PredictCollectiveResult::played>("played", "", "simulator that was emulated")
        .IfKnown(),
    MakeField<&PredictCollectiveResult::gpus>("gpus", "", "number of GPUs").IfKnown(),
    MakeField<&PredictCollectiveResult::cluster>("cluster", "", "machine").IfKnown(),
    MakeField<&PredictCollectiveResult::time_s>("time_s", "s", "predicted time").IfKnown(),
    MakeField<&PredictCollectiveResult::low_s>("low_s", "s", "low end of the 80 % interval")
        .IfKnown(),
    MakeField<&PredictCollectiveResult::high_s>("high_s", "s", "high end of the 80 % interval")
        .IfKnown(),
    MakeField<&PredictCollectiveResult::algorithm>("algorithm", "", "algorithm of NCCL").IfKnown(),
    MakeField<&PredictCollectiveResult::protocol>("protocol", "", "protocol of NCCL").IfKnown(),
    MakeField<&PredictCollectiveResult::channels>("channels", "", "channels of NCCL").IfKnown(),
    MakeField<&PredictCollectiveResult::algorithm_gb_per_s>("algbw_GBps", "GB/s", "bytes over time")
        .IfKnown(),
    MakeField<&PredictCollectiveResult::bus_gb_per_s>("busbw_GBps", "GB/s",
                                                      "algbw times nccl-tests' factor")
        .IfKnown(),
    MakeField<&PredictCollectiveResult::bottleneck>("bottleneck", "", "what limits it").IfKnown(),
    MakeField<&PredictCollectiveResult::model>("model", "", "how near the model's machine is")
        .IfKnown(),
    MakeField<&PredictCollectiveResult::model_machine>("model_machine", "",
                                                       "machine of the measurements")
        .IfKnown(),
    MakeField<&PredictCollectiveResult::model_source>("model_source", "",
                                                      "source of the measurements")
        .IfKnown(),
    MakeField<&PredictCollectiveResult::busiest_link_bytes>("busiest_link_bytes", "bytes",
                                                            "most bytes over the links of a GPU")
        .IfKnown(),
    MakeField<&PredictCollectiveResult::busiest_nic_bytes>("busiest_nic_bytes", "bytes",
                                                           "most bytes over a NIC")
        .IfKnown(),
    MakeField<&PredictCollectiveResult::time_ns>("time_ns", "ns", "time in the emulated simulator")
        .IfKnown(),
});

using Overlap = PredictOverlapRequest;

constexpr auto kOverlapRequest = std::to_array<Field<Overlap>>({
    MakeField<&Overlap::op>("operator", "", "\"gemm m=4096 n=4096 k=4096 bf16\""),
    MakeField<&Overlap::gpu>("gpu", "", "the GPU").Placeholder("NAME"),
    MakeField<&Overlap::alone_us>("alone_us", "", "its time alone, where it was measured")
        .Range(0, kUnlimited),
    MakeField<&Overlap::blocks>("blocks", "", "thread blocks (channels) of communication (16)")
        .Range(1, 1024),
    MakeField<&Overlap::gbps>("gbps", "", "bandwidth of the communication alone, GB/s")
        .Range(0, 1e5),
    MakeField<&Overlap::pattern>("pattern", "", "copy, reduce_copy (default), spin, ll or ll128"),
    MakeField<&Overlap::place>("place", "", "where its buffers are: hbm (default), l2 or host"),
    MakeField<&Overlap::priority>(
        "priority", "", "whose stream has priority: same (default), communication or compute"),
    MakeField<&Overlap::grid>("grid", "", "blocks of the kernel, where known"),
    MakeField<&Overlap::block>("block", "", "threads of a block"),
    MakeField<&Overlap::registers>("registers", "", "of a thread"),
    MakeField<&Overlap::shared>("shared", "", "bytes of a block"),
    MakeField<&Overlap::model>("model", "", "a model of `orrery fit overlap`").Placeholder("FILE"),
});

using OverlapResult = PredictOverlapResult;

constexpr auto kOverlapResult = std::to_array<Field<OverlapResult>>({
    MakeField<&OverlapResult::op>("operator", "", "the kernel, as requested"),
    MakeField<&OverlapResult::gpu>("gpu", "", "name in the catalogue"),
    MakeField<&OverlapResult::alone_us>("alone_us", "us", "time of the kernel alone"),
    MakeField<&OverlapResult::together_us>("together_us", "us", "time beside communication"),
    MakeField<&OverlapResult::low_us>("low_us", "us", "low end of the 80 % interval"),
    MakeField<&OverlapResult::high_us>("high_us", "us", "high end of the 80 % interval"),
    MakeField<&OverlapResult::stretch>("stretch", "", "together over alone, by the fitted model"),
    MakeField<&OverlapResult::communication_stretch>("communication_stretch", "",
                                                     "the same of the communication"),
    MakeField<&OverlapResult::analytic_stretch>("analytic_stretch", "",
                                                "together over alone, by arithmetic"),
    MakeField<&OverlapResult::memory_load>("memory_load", "",
                                           "demand for memory bandwidth over what there is"),
    MakeField<&OverlapResult::wait_at_half_us>(
        "wait_at_half_us", "us", "delay of communication that arrives when half is done"),
});

}  // namespace

ORRERY_SET_FIELDS(PredictTraceRequest, kTraceRequest)
ORRERY_SET_FIELDS(PredictedModels, kModels)
ORRERY_SET_FIELDS(PredictedHost, kHost)
ORRERY_SET_FIELDS(PredictedOperator, kOperator)
ORRERY_SET_FIELDS(PredictedRank, kRank)
ORRERY_SET_FIELDS(PredictTraceResult, kTraceResult)
ORRERY_SET_FIELDS(PredictKernelsRequest, kKernelsRequest)
ORRERY_SET_FIELDS(PredictedKernel, kKernel)
ORRERY_SET_FIELDS(PredictKernelsResult, kKernelsResult)
ORRERY_SET_FIELDS(PredictCollectiveRequest, kCollectiveRequest)
ORRERY_SET_FIELDS(PredictCollectiveResult, kCollectiveResult)
ORRERY_SET_FIELDS(PredictOverlapRequest, kOverlapRequest)
ORRERY_SET_FIELDS(PredictOverlapResult, kOverlapResult)

}  // namespace orrery::api
