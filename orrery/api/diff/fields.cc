#include "orrery/api/fields.h"

#include <array>

#include "orrery/api/diff.h"
#include "orrery/api/fields/field_parts.h"
#include "orrery/api/fields/run_fields.h"
#include "orrery/api/input/run_selection.h"

namespace orrery::api {

namespace {

constexpr auto kOwnFields = std::to_array<Field<DiffRequest>>({
    MakeField<&DiffRequest::path_before>("before", "", "file or folder of the first run"),
    MakeField<&DiffRequest::path_after>("after", "", "file or folder of the second run"),
    MakeField<&DiffRequest::fail_over>(
        "fail_over", "", "end with status 1 when a metric got worse by more than so many percent")
        .Placeholder("PERCENT")
        .Range(0, 1e6),
    MakeField<&DiffRequest::metrics>("metric", "", "only this metric; may be repeated").Repeats(),
});

constexpr auto kDiffRequest =
    JoinFields(kOwnFields, PartFields<&DiffRequest::selection, kSelectionFields>(),
               PartFields<&DiffRequest::run, kRunOptionFields>());

constexpr auto kDiffStep = std::to_array<Field<DiffStep>>({
    MakeField<&DiffStep::ranks>("ranks", "", "ranks that were used"),
    MakeField<&DiffStep::steps>("steps", "",
                                "steps that were used; 0: the whole recording counts as one"),
    MakeField<&DiffStep::step_time_ns>("step_time_ns", "ns", "step time"),
    MakeField<&DiffStep::recorded_span_ns>("recorded_span_ns", "ns",
                                           "first begin to last end of GPU work"),
    MakeField<&DiffStep::compute_ns>("compute_ns", "ns", "time in which a compute kernel runs"),
    MakeField<&DiffStep::exposed_communication_ns>(
        "exposed_communication_ns", "ns", "time in which communication runs and no compute"),
    MakeField<&DiffStep::exposed_memory_ns>("exposed_memory_ns", "ns",
                                            "time in which memcpys and memsets run alone"),
    MakeField<&DiffStep::idle_ns>("idle_ns", "ns", "time in which nothing runs"),
    MakeField<&DiffStep::window_ns>("window_ns", "ns", "sum of these parts"),
});

constexpr auto kDiffSteps = std::to_array<Field<DiffSteps>>({
    MakeField<&DiffSteps::before>("before", "", "the first run"),
    MakeField<&DiffSteps::after>("after", "", "the second run"),
});

constexpr auto kDiffMetric = std::to_array<Field<DiffMetric>>({
    MakeField<&DiffMetric::unit>("unit", "", "unit of the metric"),
    MakeField<&DiffMetric::better>("better", "",
                                   "direction of improvement: lower, higher or neither"),
    MakeField<&DiffMetric::before>("before", "", "value in the first run"),
    MakeField<&DiffMetric::after>("after", "", "value in the second run"),
    MakeField<&DiffMetric::percent>("percent", "%", "difference in percent of the first value"),
    MakeField<&DiffMetric::verdict>("verdict", "", "better, worse, same or unknown"),
    MakeField<&DiffMetric::reason_before>("reason_before", "", "why the first run has no value"),
    MakeField<&DiffMetric::reason_after>("reason_after", "", "why the second run has no value"),
});

constexpr auto kDiffCost = std::to_array<Field<DiffCost>>({
    MakeField<&DiffCost::count>("count", "", "number"),
    MakeField<&DiffCost::device_ns>("device_ns", "ns", "time on the device"),
    MakeField<&DiffCost::host_ns>("host_ns", "ns", "time on the host, without nested operators")
        .IfKnown(),
    MakeField<&DiffCost::wait_ns>("wait_ns", "ns",
                                  "the part of device_ns that waits for other ranks")
        .IfKnown(),
    MakeField<&DiffCost::bytes>("bytes", "bytes", "size of messages and copies").IfKnown(),
});

constexpr auto kDiffChange = std::to_array<Field<DiffChange>>({
    MakeField<&DiffChange::name>("name", "", "name"),
    MakeField<&DiffChange::kernel_class>("class", "", "class of a kernel").IfAny(),
    MakeField<&DiffChange::change>("change", "",
                                   "added, deleted, increased, decreased or unchanged"),
    MakeField<&DiffChange::difference_ns>("difference_ns", "ns",
                                          "second minus first of the time that decides the change"),
    MakeField<&DiffChange::before>("before", "", "cost in the first run"),
    MakeField<&DiffChange::after>("after", "", "cost in the second run"),
});

constexpr auto kDiffMemory = std::to_array<Field<DiffMemory>>({
    MakeField<&DiffMemory::name>("name", "", "memory pool"),
    MakeField<&DiffMemory::change>("change", "",
                                   "added, deleted, increased, decreased or unchanged"),
    MakeField<&DiffMemory::before_bytes>("before_bytes", "bytes", "peak in the first run"),
    MakeField<&DiffMemory::after_bytes>("after_bytes", "bytes", "peak in the second run"),
});

constexpr auto kDiffResult = std::to_array<Field<DiffResult>>({
    MakeField<&DiffResult::before>("before", "", "path of the first run"),
    MakeField<&DiffResult::after>("after", "", "path of the second run"),
    MakeField<&DiffResult::fail_over_percent>("fail_over_percent", "%",
                                              "limit by which no metric may get worse"),
    MakeField<&DiffResult::worse>("worse", "", "metrics over the limit, worst first"),
    MakeField<&DiffResult::step>("step", "", "where the time of a step goes"),
    MakeField<&DiffResult::metrics>("metrics", "", "metrics by name"),
    MakeField<&DiffResult::collectives>("collectives", "", "communication on the device by kind"),
    MakeField<&DiffResult::kernel_classes>("kernel_classes", "", "kernels by class"),
    MakeField<&DiffResult::kernels>("kernels", "", "kernels by exact name"),
    MakeField<&DiffResult::operators>("operators", "", "framework operators by name"),
    MakeField<&DiffResult::copies>("copies", "", "memcpys and memsets by kind"),
    MakeField<&DiffResult::memory>("memory", "", "peak memory that the allocator reports"),
});

}  // namespace

ORRERY_SET_FIELDS(DiffRequest, kDiffRequest)
ORRERY_SET_FIELDS(DiffStep, kDiffStep)
ORRERY_SET_FIELDS(DiffSteps, kDiffSteps)
ORRERY_SET_FIELDS(DiffMetric, kDiffMetric)
ORRERY_SET_FIELDS(DiffCost, kDiffCost)
ORRERY_SET_FIELDS(DiffChange, kDiffChange)
ORRERY_SET_FIELDS(DiffMemory, kDiffMemory)
ORRERY_SET_FIELDS(DiffResult, kDiffResult)

}  // namespace orrery::api
