#include <array>
#include <cstdint>
#include <limits>
#include <string_view>

#include "orrery/api/fields.h"
#include "orrery/api/fields/job_fields.h"
#include "orrery/api/simulate.h"
#include "orrery/api/simulate/overlap_option.h"

namespace orrery::api {
namespace {

using Request = SimulateRequest;
using OfJob = JobFields<&Request::job>;

constexpr double kMostRanks = 1 << 20;
constexpr double kMostSteps = 10'000'000;
constexpr double kUnlimited = std::numeric_limits<double>::infinity();

constexpr auto kNetworks = std::to_array<std::string_view>({"alone", "flows", "shared"});
constexpr auto kRoutings = std::to_array<std::string_view>({"adaptive", "hash", "spray"});

// In the order of --help.
constexpr auto kFields = std::to_array<Field<Request>>({
    MakeField<&Request::jobs>("jobs", "",
                              "a job, or a program of another tool; several jobs share one cluster")
        .Placeholder("JOB"),
    MakeField<&Request::job_yaml>("job_yaml", "", "the text of a job, instead of a file"),
    MakeField<&Request::from>(
        "from", "",
        "a job recorded by `orrery trace`, instead of JOB; or the output of Echo's tracer")
        .Placeholder("FOLDER"),
    MakeField<&Request::world>("world", "",
                               "number of ranks of --from, by scaling data parallelism (as traced)")
        .Range(1, kMostRanks),
    MakeField<&Request::host>(
        "host", "", "host of the ranks of --from, as `orrery predict --host` takes it (as traced)")
        .Placeholder("FILE|NAME"),
    OfJob::kSet,
    OfJob::kGpu,
    OfJob::kCluster,
    MakeField<&Request::what_if>(
        "what_if", "",
        "a part that is K times as fast: network, nics, links, flops, memory (HBM), compute, gemm, "
        "attention, optimizer, other; may be repeated")
        .Placeholder("PART=K")
        .Repeats(),
    MakeField<&Request::slow>("slow", "",
                              "a rank whose kernels take longer: rank=7:1.3; may be repeated")
        .Placeholder("rank=N:FACTOR")
        .Repeats(),
    MakeField<&Request::gpu_of>(
        "gpu_of", "", "ranks that have another GPU: ranks=8-15:A100-80GB; may be repeated")
        .Placeholder("ranks=A-B:NAME")
        .Repeats(),
    MakeField<&Request::fail>("fail", "", "a NIC that is down: node=3:nic=2; may be repeated")
        .Placeholder("node=N:nic=K")
        .Repeats(),
    MakeField<&Request::degrade>("degrade", "",
                                 "a node whose NICs carry a share: node=3:0.5; may be repeated")
        .Placeholder("node=N:SHARE")
        .Repeats(),
    MakeField<&Request::network>(
        "network", "",
        "how transfers of different groups share the network: not at all, NICs, links of "
        "GPUs and first switches, or every link with routes (default: shared over several "
        "nodes)")
        .Choices(kNetworks),
    MakeField<&Request::topology>(
        "topology", "",
        "links and switches instead of the cluster's: our YAML, SimAI's text, ASTRA-sim's "
        "YAML; flows")
        .Placeholder("FILE"),
    MakeField<&Request::routing>(
        "routing", "",
        "how switches choose between equal paths: ECMP by a hash, by bandwidth, evenly; "
        "flows (default: adaptive)")
        .Choices(kRoutings),
    MakeField<&Request::routing_seed>("routing_seed", "", "of the hash (0)").Range(0, kUnlimited),
    MakeField<&Request::oversubscribe>("oversubscribe", "",
                                       "bandwidth below first switches over that above them: 7")
        .Placeholder("FACTOR")
        .Range(1, 1000),
    MakeField<&Request::background>(
        "background", "",
        "other traffic: a share of NICs and switches, or a CSV of from,to,gbps; flows")
        .Placeholder("SHARE|FILE"),
    MakeField<&Request::congestion>(
        "congestion", "",
        "what happens when transfers compete for a link: none, ecn, lossless (PFC: links "
        "in front of it pause, and hold others back), sprayed; flows (default: none)"),
    MakeField<&Request::checkpoint_traffic>(
        "checkpoint_traffic", "",
        "an asynchronous checkpoint is written beside the step, over the NICs, to storage "
        "that takes this rate of all ranks together: 200GB/s")
        .Placeholder("RATE"),
    MakeField<&Request::placement>(
        "placement", "",
        "which nodes several jobs get: packed (one job after the other, the default), "
        "spread (one node each in turn), or their nodes: 0-7/8,10,12-17"),
    MakeField<&Request::jitter>("jitter", "", "spread of kernel times, relative: 0.02").Range(0, 1),
    MakeField<&Request::steps>(
        "steps", "", "draw so many steps that vary around the simulated one: p50, p95, p99")
        .Range(1, kMostSteps),
    MakeField<&Request::seed>("seed", "", "of the steps that --steps draws (0)")
        .Range(0, kUnlimited),
    MakeField<&Request::overlap>("overlap", "", kOverlapDoc).Choices(kOverlaps),
    MakeField<&Request::no_fold>("no_fold", "", "simulate every rank, including identical ones"),
    MakeField<&Request::step_only>(
        "step_only", "",
        "the step, its throughput and its memory only, several times as fast: no breakdown, "
        "no interval, no advice"),
    MakeField<&Request::max_tasks>(
        "max_tasks", "", "refuse a job whose step has more tasks (20000000; with flows 60000000)")
        .Range(1, kUnlimited),
    OfJob::kModels,
    MakeField<&Request::echo_ops>("echo_ops", "",
                                  "times of operators of Echo's tracer; JOB are its graphs")
        .Placeholder("FILE"),
    MakeField<&Request::gpus>("gpus", "", "ranks of a graph of Echo (1)").Range(1, kMostRanks),
    MakeField<&Request::emulate>(
        "emulate", "", "predict a workload as its simulator does: simai; needs no cluster")
        .Placeholder("MODEL"),
    MakeField<&Request::settings>(
        "with", "", "settings of the model that is emulated, such as nvlink=360,nic=48.5")
        .Placeholder("KEY=VALUE,..."),
});

}  // namespace

ORRERY_SET_FIELDS(SimulateRequest, kFields)

}  // namespace orrery::api
