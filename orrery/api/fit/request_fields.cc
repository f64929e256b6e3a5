#include <array>

#include "orrery/api/fields.h"
#include "orrery/api/fields/field_parts.h"
#include "orrery/api/fields/run_fields.h"
#include "orrery/api/fit.h"
#include "orrery/api/fit_overlap.h"
#include "orrery/api/simulate/overlap_option.h"

namespace orrery::api {
namespace {

// In the order of --help.

constexpr auto kKernels = std::to_array<Field<FitKernelsRequest>>({
    MakeField<&FitKernelsRequest::paths>(
        "paths", "", "tables of `orrery measure kernels`, NeuSight or aiconfigurator"),
    MakeField<&FitKernelsRequest::output>(
        "output", "",
        "the model file to write, or a folder (an ending /) for one file per operator"),
    MakeField<&FitKernelsRequest::gpu>("gpu", "", "only rows of this GPU").Placeholder("NAME"),
    MakeField<&FitKernelsRequest::max_spread>(
        "max_spread", "%", "leave out rows whose repeats differ by more than so many percent (20)")
        .Range(0, 1e6),
    MakeField<&FitKernelsRequest::seed>("seed", "", "of draws and splits (1)"),
    MakeField<&FitKernelsRequest::no_figures>(
        "no_figures", "", "do not evaluate a second fit on unseen shapes for the model's card"),
});

constexpr auto kSiblings = std::to_array<Field<FitSiblingsRequest>>({
    MakeField<&FitSiblingsRequest::paths>("paths", "", "tables as `orrery fit kernels` takes them"),
    MakeField<&FitSiblingsRequest::output>("output", "", "the file to write"),
    MakeField<&FitSiblingsRequest::gpus>("gpu", "", "only rows of this GPU; may be repeated")
        .Placeholder("NAME")
        .Repeats(),
});

constexpr auto kCollectives = std::to_array<Field<FitCollectivesRequest>>({
    MakeField<&FitCollectivesRequest::paths>(
        "paths", "", "nccl-tests logs or tables; docs/formats/measured-collectives.md"),
    MakeField<&FitCollectivesRequest::output>("output", "", "the model file to write"),
    MakeField<&FitCollectivesRequest::cluster>("cluster", "",
                                               "the machine, where the data do not name it")
        .Placeholder("NAME"),
});

// The command has one option for the counters of pairs and of traces, and one for the output.
constexpr auto kOverlap = std::to_array<Field<FitOverlapRequest>>({
    MakeField<&FitOverlapRequest::paths>(
        "paths", "", "tables of `orrery measure overlap`; docs/formats/overlap-pairs.md"),
    MakeField<&FitOverlapRequest::counters>(
        "counters", "",
        "counters of the kernels: features/counters.csv, or for --from-traces a CSV of Nsight "
        "Compute (details or raw page)")
        .Placeholder("FILE"),
    MakeField<&FitOverlapRequest::output>(
        "output", "", "the model file to write; for --from-traces the folder of tables"),
    MakeField<&FitOverlapRequest::seed>("seed", "", "of draws (1)"),
});

constexpr auto kOwnTraces = std::to_array<Field<FitOverlapFromTracesRequest>>({
    MakeField<&FitOverlapFromTracesRequest::from_traces>(
        "from_traces", "",
        "the run without communication (or a profile of its kernels: CSV of Nsight Compute), then "
        "the run with it")
        .Placeholder("A B"),
    MakeField<&FitOverlapFromTracesRequest::counters>(
        "counters", "", "counters of the kernels: a CSV of Nsight Compute (details or raw page)")
        .Placeholder("FILE"),
    MakeField<&FitOverlapFromTracesRequest::output>("output", "", "the folder of tables to write"),
});

constexpr auto kTraces =
    JoinFields(kOwnTraces, PartFields<&FitOverlapFromTracesRequest::run, kRunOptionFields>());

constexpr auto kPower = std::to_array<Field<FitPowerRequest>>({
    MakeField<&FitPowerRequest::paths>(
        "paths", "", "tables of `orrery measure power` or of aiconfigurator with watts"),
    MakeField<&FitPowerRequest::output>("output", "", "the file to write"),
});

constexpr auto kOwnHost = std::to_array<Field<FitHostRequest>>({
    MakeField<&FitHostRequest::paths>("paths", "", "recordings with operators and runtime calls"),
    MakeField<&FitHostRequest::steps>(
        "steps", "",
        "CSV with columns name and step_ms, measured without the profiler, to find its overhead")
        .Placeholder("FILE"),
    MakeField<&FitHostRequest::measured_kernels>(
        "kernels", "",
        "tables of `orrery measure kernels`: launch counts of operators that no recording has")
        .Placeholder("FILE"),
    MakeField<&FitHostRequest::profiler_cost_us>(
        "profiler_cost", "us", "overhead of the profiler per event, instead of --steps")
        .Placeholder("US")
        .Range(0, 1e3),
    MakeField<&FitHostRequest::without>("without", "",
                                        "leave out the recording of this name; may be repeated")
        .Placeholder("NAME")
        .Repeats(),
    MakeField<&FitHostRequest::output>("output", "", "file to write"),
});

constexpr auto kHost = JoinFields(kOwnHost, PartFields<&FitHostRequest::run, kRunOptionFields>());

constexpr auto kJitter = std::to_array<Field<FitJitterRequest>>({
    MakeField<&FitJitterRequest::path>("path", "",
                                       "table of logged steps; docs/formats/recorded-steps.md"),
    MakeField<&FitJitterRequest::output>("output", "", "write the constants to this file"),
});

constexpr auto kFrameworks = std::to_array<Field<FitFrameworksRequest>>({
    MakeField<&FitFrameworksRequest::paths>(
        "paths", "", "tables of published runs; docs/formats/published-runs.md"),
    MakeField<&FitFrameworksRequest::output>("output", "", "write the scalars to this file"),
    MakeField<&FitFrameworksRequest::without_stack>(
        "without_stack", "", "leave out the rows of this stack (data/workload/stacks.yaml)")
        .Placeholder("NAME"),
    MakeField<&FitFrameworksRequest::without_team>("without_team", "",
                                                   "leave out the rows of this team")
        .Placeholder("NAME"),
    MakeField<&FitFrameworksRequest::overlap>("overlap", "", kOverlapDoc).Choices(kOverlaps),
});

}  // namespace

ORRERY_SET_FIELDS(FitKernelsRequest, kKernels)
ORRERY_SET_FIELDS(FitSiblingsRequest, kSiblings)
ORRERY_SET_FIELDS(FitCollectivesRequest, kCollectives)
ORRERY_SET_FIELDS(FitOverlapRequest, kOverlap)
ORRERY_SET_FIELDS(FitOverlapFromTracesRequest, kTraces)
ORRERY_SET_FIELDS(FitPowerRequest, kPower)
ORRERY_SET_FIELDS(FitHostRequest, kHost)
ORRERY_SET_FIELDS(FitJitterRequest, kJitter)
ORRERY_SET_FIELDS(FitFrameworksRequest, kFrameworks)

}  // namespace orrery::api
