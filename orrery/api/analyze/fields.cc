#include "orrery/api/fields.h"

#include <array>
#include <limits>
#include <string_view>

#include "orrery/api/analyze.h"
#include "orrery/api/fields/field_parts.h"
#include "orrery/api/fields/run_fields.h"
#include "orrery/api/input/run_selection.h"

namespace orrery::api {

namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

constexpr auto kSuites = std::to_array<std::string_view>({"ccl-bench"});
constexpr auto kWeights = std::to_array<std::string_view>({"bytes", "time"});
constexpr auto kDirections = std::to_array<std::string_view>({"rx", "tx"});

constexpr auto kMetricFields = std::to_array<Field<AnalyzeRequest>>({
    MakeField<&AnalyzeRequest::metrics>("metric", "", "only this metric; may be repeated")
        .Repeats(),
    MakeField<&AnalyzeRequest::compat>("compat", "",
                                       "use the definitions of another suite: ccl-bench")
        .Choices(kSuites),
});

constexpr auto kQuestionFields = std::to_array<Field<AnalyzeRequest>>({
    MakeField<&AnalyzeRequest::what_if>(
        "what_if", "",
        "what_if: a scenario, such as network=4, kernel:NAME=2 or rank:3; may be repeated"),
    MakeField<&AnalyzeRequest::by>("by", "",
                                   "traffic_distribution: what is counted (default: bytes)")
        .Choices(kWeights),
    MakeField<&AnalyzeRequest::link>("link", "", "NVLink metrics: one link (default: all)"),
    MakeField<&AnalyzeRequest::direction>("direction", "",
                                          "NVLink metrics: one direction (default: both)")
        .Choices(kDirections),
    MakeField<&AnalyzeRequest::gpu>("gpu", "", "peak_kernels: whose kernels").ShowsDefault(),
    MakeField<&AnalyzeRequest::top>("top", "", "peak_kernels: how many peaks")
        .ShowsDefault()
        .Range(1, kUnlimited),
    MakeField<&AnalyzeRequest::nccl_only>("nccl_only", "",
                                          "peak_kernels: communication kernels only"),
});

constexpr auto kAnalyzeRequest =
    JoinFields(kMetricFields, PartFields<&AnalyzeRequest::selection, kSelectionFields>(),
               kQuestionFields, PartFields<&AnalyzeRequest::run, kRunFields>());

bool HasSummary(const AnalyzeResult& result) {
  return result.has_summary;
}

constexpr auto kAnalyzedMetric = std::to_array<Field<AnalyzedMetric>>({
    MakeField<&AnalyzedMetric::value>("value", "",
                                      "the number; none where the metric does not apply"),
    MakeField<&AnalyzedMetric::unit>("unit", "", "its unit; empty for a plain number"),
    MakeField<&AnalyzedMetric::status>("status", "", "ok or n/a"),
    MakeField<&AnalyzedMetric::reason>("reason", "", "why there is no number"),
    MakeField<&AnalyzedMetric::detail>("detail", "", "supporting data"),
});

constexpr auto kAnalyzedTime = std::to_array<Field<AnalyzedTime>>({
    MakeField<&AnalyzedTime::name>("name", "",
                                   "step time, or recorded span where the run has no steps"),
    MakeField<&AnalyzedTime::seconds>("seconds", "s", "the time"),
    MakeField<&AnalyzedTime::definition>("definition", "", "definition of the time"),
});

constexpr auto kAnalyzedFinding = std::to_array<Field<AnalyzedFinding>>({
    MakeField<&AnalyzedFinding::text>("text", "", "the finding"),
    MakeField<&AnalyzedFinding::more>("more", "", "evidence or advice; may be empty"),
    MakeField<&AnalyzedFinding::share>("share", "", "share of the step's time, 0 to 1"),
});

constexpr auto kDeviceCommunication = std::to_array<Field<DeviceCommunication>>({
    MakeField<&DeviceCommunication::time_ns>("time_ns", "ns",
                                             "mean communication time per step, waiting included"),
    MakeField<&DeviceCommunication::hidden_ns>("hidden_ns", "ns", "the part in which compute runs"),
    MakeField<&DeviceCommunication::exposed_ns>("exposed_ns", "ns",
                                                "the part in which no compute runs"),
    MakeField<&DeviceCommunication::hidden_percent>("hidden_percent", "%",
                                                    "share of the time that is hidden"),
    MakeField<&DeviceCommunication::device>("device", "", "device"),
});

constexpr auto kAnalyzedCommunication = std::to_array<Field<AnalyzedCommunication>>({
    MakeField<&AnalyzedCommunication::time_ns>(
        "time_ns", "ns", "mean communication time per step, waiting included"),
    MakeField<&AnalyzedCommunication::hidden_ns>("hidden_ns", "ns",
                                                 "the part in which compute runs"),
    MakeField<&AnalyzedCommunication::exposed_ns>("exposed_ns", "ns",
                                                  "the part in which no compute runs"),
    MakeField<&AnalyzedCommunication::hidden_percent>("hidden_percent", "%",
                                                      "share of the time that is hidden"),
    MakeField<&AnalyzedCommunication::exposed_definition>("exposed_definition", "",
                                                          "definition of exposed_ns"),
    MakeField<&AnalyzedCommunication::per_device>("per_device", "", "the same of each device"),
});

constexpr auto kAnalyzedKernel = std::to_array<Field<AnalyzedKernel>>({
    MakeField<&AnalyzedKernel::name>("name", "", "name as recorded"),
    MakeField<&AnalyzedKernel::short_name>("short_name", "",
                                           "name without namespaces and parameters"),
    MakeField<&AnalyzedKernel::kernel_class>("class", "", "class, as in kernel_breakdown"),
    MakeField<&AnalyzedKernel::calls>("calls", "", "calls, mean per step and device"),
    MakeField<&AnalyzedKernel::time_ns>("time_ns", "ns", "time, mean per step and device"),
    MakeField<&AnalyzedKernel::percent>("percent", "%", "share of the time of all kernels"),
    MakeField<&AnalyzedKernel::wait_percent>(
        "wait_percent", "%",
        "share of a communication kernel's time that is waiting for other ranks"),
    MakeField<&AnalyzedKernel::known_percent>(
        "known_percent", "%", "share of the time in calls whose FLOPs and bytes are known"),
    MakeField<&AnalyzedKernel::flops_per_s>("flops_per_s", "FLOP/s", "achieved in those calls"),
    MakeField<&AnalyzedKernel::bytes_per_s>("bytes_per_s", "bytes/s", "achieved in those calls"),
    MakeField<&AnalyzedKernel::roof_percent>("roof_percent", "%",
                                             "share of the peak that limits the kernel"),
    MakeField<&AnalyzedKernel::bottleneck>("bottleneck", "", "that peak: compute or memory"),
});

constexpr auto kAnalyzeResult = std::to_array<Field<AnalyzeResult>>({
    MakeField<&AnalyzeResult::metrics>("metrics", "", "metrics by name, in the requested order"),
    MakeField<&AnalyzeResult::time>("time", "", "time by which the run is known").When(&HasSummary),
    MakeField<&AnalyzeResult::findings>("findings", "", "findings, most important first")
        .When(&HasSummary),
    MakeField<&AnalyzeResult::communication>("communication", "",
                                             "mean communication time of a step")
        .When(&HasSummary),
    MakeField<&AnalyzeResult::kernels>("kernels", "", "kernels by name, longest total time first")
        .When(&HasSummary),
    MakeField<&AnalyzeResult::straggler>("straggler", "", "cost of stragglers").When(&HasSummary),
    MakeField<&AnalyzeResult::notes>("notes", "", "things that could not be read, matched or used")
        .IfKnown(),
});

}  // namespace

ORRERY_SET_FIELDS(AnalyzeRequest, kAnalyzeRequest)
ORRERY_SET_FIELDS(AnalyzedMetric, kAnalyzedMetric)
ORRERY_SET_FIELDS(AnalyzedTime, kAnalyzedTime)
ORRERY_SET_FIELDS(AnalyzedFinding, kAnalyzedFinding)
ORRERY_SET_FIELDS(DeviceCommunication, kDeviceCommunication)
ORRERY_SET_FIELDS(AnalyzedCommunication, kAnalyzedCommunication)
ORRERY_SET_FIELDS(AnalyzedKernel, kAnalyzedKernel)
ORRERY_SET_FIELDS(AnalyzeResult, kAnalyzeResult)

}  // namespace orrery::api
