#include <array>

#include "orrery/api/fields.h"
#include "orrery/api/fields/job_fields.h"
#include "orrery/api/goodput.h"

namespace orrery::api {
namespace {

using Request = GoodputRequest;
using OfJob = JobFields<&Request::changes>;

// In the order of --help.
constexpr auto kFields = std::to_array<Field<Request>>({
    MakeField<&Request::job>("job", "", "a job").Placeholder("JOB"),
    MakeField<&Request::job_yaml>("job_yaml", "", "the text of a job, instead of a file"),
    OfJob::kSet,
    OfJob::kGpu,
    OfJob::kCluster,
    MakeField<&Request::step_time>("step_time", "",
                                   "a measured step, 6.2s, instead of a simulated one")
        .Placeholder("TIME"),
    OfJob::kModels,
    MakeField<&Request::days>("days", "", "the window (30)").Range(0.001, 100),
    MakeField<&Request::node_mtbf>("node_mtbf", "",
                                   "mean time between failures of one node, of all causes: 20d")
        .Placeholder("TIME"),
    MakeField<&Request::failures>(
        "failures", "", "rates of a set or file, failures of a log, or none (llama3-405b)")
        .Placeholder("SET"),
    MakeField<&Request::detect>("detect", "", "until a failure is detected (2m)")
        .Placeholder("TIME"),
    MakeField<&Request::restart>(
        "restart", "", "to reschedule and initialise, without loading the checkpoint (8m)")
        .Placeholder("TIME"),
    MakeField<&Request::repair>("repair", "",
                                "until a failed node can be used again (of the rates: 1d)")
        .Placeholder("TIME"),
    MakeField<&Request::spares>("spares", "", "nodes that stand by, or auto (auto)")
        .Placeholder("NODES"),
    MakeField<&Request::elastic>(
        "elastic", "", "run with fewer data-parallel replicas rather than wait for a node"),
    MakeField<&Request::slow_nodes>("slow_nodes", "", "nodes that become slow: 200d:1.3:1h (none)")
        .Placeholder("MTBF:FACTOR:FOUND"),
    MakeField<&Request::checkpoint>("checkpoint", "",
                                    "work between checkpoints: 30m, auto or off (auto)")
        .Placeholder("INTERVAL"),
    MakeField<&Request::async>(
        "async", "", "training waits for the copy to the host only, storage is written beside it"),
    MakeField<&Request::checkpoint_traffic>(
        "checkpoint_traffic", "",
        "with --async: the checkpoint takes the NICs of training, whose steps are longer "
        "meanwhile (simulated)"),
    MakeField<&Request::storage>("storage", "", "of checkpoints, all nodes together (200GB/s)")
        .Placeholder("RATE"),
    MakeField<&Request::checkpoint_size>("checkpoint_size", "",
                                         "1.6TB (weights, master copy and moments of the job)")
        .Placeholder("SIZE"),
    MakeField<&Request::storage_capacity>("storage_capacity", "",
                                          "refuse checkpoints that have no room, two at a time")
        .Placeholder("SIZE"),
    MakeField<&Request::price>("price", "", "of a GPU hour: 2.5, or H100=2.5,A100-80GB=1.1")
        .Placeholder("DOLLARS"),
    MakeField<&Request::runs>("runs", "", "months to simulate (1000)").Range(1, 1'000'000),
    MakeField<&Request::seed>("seed", "", "of what happens by chance (0)"),
    MakeField<&Request::threads>("threads", "", "threads to use (default: one for each core)")
        .Range(0, 1024),
});

}  // namespace

ORRERY_SET_FIELDS(GoodputRequest, kFields)

}  // namespace orrery::api
