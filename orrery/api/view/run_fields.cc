#include <array>
#include <string_view>

#include "orrery/api/fields.h"
#include "orrery/api/view/results.h"

namespace orrery::api {
namespace view {
namespace {

constexpr std::array<std::string_view, 2> kKinds = {"recorded", "simulated"};
constexpr std::array<std::string_view, 2> kWhatIfs = {"replay", "simulate"};
constexpr std::array<std::string_view, 5> kTrackKinds = {"ranges", "python", "host", "calls",
                                                         "stream"};

constexpr auto kStepFields = std::to_array<Field<Step>>({
    MakeField<&Step::name>("name", "", "Name of the step marker"),
    MakeField<&Step::begin_ns>("begin_ns", "ns", "Begin"),
    MakeField<&Step::end_ns>("end_ns", "ns", "End"),
});

constexpr auto kRunInfoFields = std::to_array<Field<RunInfo>>({
    MakeField<&RunInfo::name>("name", "", "Name of the run"),
    MakeField<&RunInfo::kind>("kind", "", "Source of the run").Choices(kKinds),
    MakeField<&RunInfo::begin_ns>("begin_ns", "ns", "Begin on the clock of the recording, as text"),
    MakeField<&RunInfo::length_ns>("length_ns", "ns", "Time from the first event to the last"),
    MakeField<&RunInfo::num_ranks>("num_ranks", "", "Number of ranks"),
    MakeField<&RunInfo::num_traces>("num_traces", "",
                                    "Number of traces; equal ranks of a simulation share one"),
    MakeField<&RunInfo::num_events>("num_events", "", "Number of events of all traces"),
    MakeField<&RunInfo::problems>("problems", "",
                                  "Problems in reading or modelling, a sentence each"),
    MakeField<&RunInfo::steps>("steps", "", "Step markers of one rank"),
    MakeField<&RunInfo::steps_rank>("steps_rank", "", "Number of the rank whose markers they are"),
    MakeField<&RunInfo::step_ns>("step_ns", "ns", "Step time; null without steps"),
    MakeField<&RunInfo::step_definition>("step_definition", "",
                                         "Definition of the step time, or of what stands for it"),
    MakeField<&RunInfo::can_predict>("can_predict", "", "Whether the question predict answers"),
    MakeField<&RunInfo::can_what_if>("can_what_if", "", "Answer of the question what-if")
        .Choices(kWhatIfs),
    MakeField<&RunInfo::has_memory>("has_memory", "", "Whether memory events were recorded"),
});

constexpr auto kActivityClassFields = std::to_array<Field<ActivityClass>>({
    MakeField<&ActivityClass::key>("key", "", "Name in answers and style sheets"),
    MakeField<&ActivityClass::name>("name", "", "Name for people"),
});

constexpr auto kSessionInfoFields = std::to_array<Field<SessionInfo>>({
    MakeField<&SessionInfo::version>("version", "", "Version of Orrery"),
    MakeField<&SessionInfo::title>("title", "", "Title of the page"),
    MakeField<&SessionInfo::runs>("runs", "", "Open runs"),
    MakeField<&SessionInfo::can_open_plans>("can_open_plans", "",
                                            "Whether the question plan answers"),
    MakeField<&SessionInfo::classes>("classes", "",
                                     "Classes of activity, in the order of their codes"),
    MakeField<&SessionInfo::tabs>("tabs", "", "Names of the tabs"),
});

constexpr auto kRanksFields = std::to_array<Field<Ranks>>({
    MakeField<&Ranks::rank>("rank", "", "Numbers of the ranks"),
    MakeField<&Ranks::trace>("trace", "", "Place of the trace that shows the rank"),
    MakeField<&Ranks::stage>("stage", "", "Pipeline stage; -1: none"),
    MakeField<&Ranks::node>("node", "", "Node; -1: not known"),
    MakeField<&Ranks::late_ns>("late_ns", "ns", "Mean lateness at collectives"),
    MakeField<&Ranks::label>("label", "", "Name for people"),
});

constexpr auto kTrackFields = std::to_array<Field<Track>>({
    MakeField<&Track::track>("track", "", "Place of the track"),
    MakeField<&Track::group>("group", "", "Thread or GPU"),
    MakeField<&Track::name>("name", "", "Name of the track"),
    MakeField<&Track::kind>("kind", "", "Kind of slices").Choices(kTrackKinds),
    MakeField<&Track::depth>("depth", "", "Number of rows"),
    MakeField<&Track::count>("count", "", "Number of slices"),
});

constexpr auto kSlicePlaceFields = std::to_array<Field<SlicePlace>>({
    MakeField<&SlicePlace::rank>("rank", "", "Row of the rank"),
    MakeField<&SlicePlace::track>("track", "", "Place of the track"),
    MakeField<&SlicePlace::row>("row", "", "Row in the table of the track"),
    MakeField<&SlicePlace::begin_ns>("begin_ns", "ns", "Begin"),
    MakeField<&SlicePlace::duration_ns>("duration_ns", "ns", "Duration"),
    MakeField<&SlicePlace::name>("name", "", "Name of the slice"),
    MakeField<&SlicePlace::depth>("depth", "", "Row of the track, 0 the uppermost"),
});

constexpr auto kSliceFactFields = std::to_array<Field<SliceFact>>({
    MakeField<&SliceFact::name>("name", "", "Name of the field"),
    MakeField<&SliceFact::value>("value", "", "Value for people"),
    MakeField<&SliceFact::place>("place", "", "Slice that the field leads to").IfKnown(),
});

constexpr auto kSliceDetailsFields = std::to_array<Field<SliceDetails>>({
    MakeField<&SliceDetails::name>("name", "", "Name of the slice"),
    MakeField<&SliceDetails::begin_ns>("begin_ns", "ns", "Begin"),
    MakeField<&SliceDetails::duration_ns>("duration_ns", "ns", "Duration"),
    MakeField<&SliceDetails::class_key>("class", "", "Key of the activity class, or host"),
    MakeField<&SliceDetails::facts>("facts", "", "Everything else that is known"),
    MakeField<&SliceDetails::launch>("launch", "", "Runtime call that launched it"),
    MakeField<&SliceDetails::kernels>("kernels", "", "Activities that it launched"),
    MakeField<&SliceDetails::collective>("collective", "", "Number of the matched collective"),
    MakeField<&SliceDetails::stack>("stack", "", "Frames around it, the outermost first"),
});

constexpr auto kCollectiveInstanceFields = std::to_array<Field<CollectiveInstance>>({
    MakeField<&CollectiveInstance::id>("id", "", "Number of the collective"),
    MakeField<&CollectiveInstance::kind>("kind", "", "Kind"),
    MakeField<&CollectiveInstance::group>("group", "", "Process group"),
    MakeField<&CollectiveInstance::bytes>("bytes", "bytes", "Message size; -1: not known"),
    MakeField<&CollectiveInstance::begin_ns>("begin_ns", "ns", "Begin of the first member"),
    MakeField<&CollectiveInstance::arrival_ns>("arrival_ns", "ns", "Arrival of the last member"),
    MakeField<&CollectiveInstance::end_ns>("end_ns", "ns", "End of the last member"),
    MakeField<&CollectiveInstance::last_rank>("last_rank", "", "Row of the rank that arrives last"),
    MakeField<&CollectiveInstance::ranks>("ranks", "", "Rows of the members"),
    MakeField<&CollectiveInstance::begins_ns>("begins_ns", "ns", "Begin of each member"),
    MakeField<&CollectiveInstance::ends_ns>("ends_ns", "ns", "End of each member"),
    MakeField<&CollectiveInstance::flags>("flags", "", "Problems in matching"),
});

constexpr auto kCollectivesFields = std::to_array<Field<Collectives>>({
    MakeField<&Collectives::total>("total", "", "Number of collectives in the window"),
    MakeField<&Collectives::instances>("instances", "", "The longest of them"),
});

constexpr auto kHopFields = std::to_array<Field<Hop>>({
    MakeField<&Hop::begin_ns>("begin_ns", "ns", "Begin"),
    MakeField<&Hop::duration_ns>("duration_ns", "ns", "Duration"),
    MakeField<&Hop::rank>("rank", "", "Row of the rank; null: of none"),
    MakeField<&Hop::track>("track", "", "Place of the track; null: of none"),
    MakeField<&Hop::class_key>("class", "", "Class of time"),
    MakeField<&Hop::name>("name", "", "Name for people"),
});

constexpr auto kCriticalFields = std::to_array<Field<Critical>>({
    MakeField<&Critical::step>("step", "", "Number of the step; -1: the whole recording"),
    MakeField<&Critical::begin_ns>("begin_ns", "ns", "Begin of the step"),
    MakeField<&Critical::length_ns>("length_ns", "ns", "Length of the path"),
    MakeField<&Critical::hops>("hops", "", "Segments of the path, in order of time"),
});

constexpr auto kKernelOfRangeFields = std::to_array<Field<KernelOfRange>>({
    MakeField<&KernelOfRange::name>("name", "", "Name of the kernel"),
    MakeField<&KernelOfRange::class_key>("class", "", "Key of the activity class"),
    MakeField<&KernelOfRange::count>("count", "", "Number of launches"),
    MakeField<&KernelOfRange::ns>("ns", "ns", "Time"),
});

constexpr auto kRankOfRangeFields = std::to_array<Field<RankOfRange>>({
    MakeField<&RankOfRange::rank>("rank", "", "Row of the rank"),
    MakeField<&RankOfRange::label>("label", "", "Name for people"),
    MakeField<&RankOfRange::classes>("classes", "ns", "Time of each activity class"),
});

constexpr auto kRangeTotalsFields = std::to_array<Field<RangeTotals>>({
    MakeField<&RangeTotals::classes>("classes", "ns", "Time of each activity class"),
    MakeField<&RangeTotals::kernels>("kernels", "", "Largest kernels"),
    MakeField<&RangeTotals::num_kernels>("num_kernels", "", "Number of different kernels"),
    MakeField<&RangeTotals::ranks>("ranks", "", "Ranks, the largest waits first"),
});

constexpr auto kFoundNameFields = std::to_array<Field<FoundName>>({
    MakeField<&FoundName::name>("name", "", "Name of slices"),
    MakeField<&FoundName::count>("count", "", "Number of slices"),
    MakeField<&FoundName::ns>("ns", "ns", "Time of all"),
});

constexpr auto kFoundFields = std::to_array<Field<Found>>({
    MakeField<&Found::total>("total", "", "Number of slices whose name matches"),
    MakeField<&Found::names>("names", "", "Names that match, the longest time first"),
    MakeField<&Found::hits>("hits", "", "Slices in order of begin"),
});

}  // namespace
}  // namespace view

ORRERY_SET_FIELDS(view::Step, view::kStepFields)
ORRERY_SET_FIELDS(view::RunInfo, view::kRunInfoFields)
ORRERY_SET_FIELDS(view::ActivityClass, view::kActivityClassFields)
ORRERY_SET_FIELDS(view::SessionInfo, view::kSessionInfoFields)
ORRERY_SET_FIELDS(view::Ranks, view::kRanksFields)
ORRERY_SET_FIELDS(view::Track, view::kTrackFields)
ORRERY_SET_FIELDS(view::SlicePlace, view::kSlicePlaceFields)
ORRERY_SET_FIELDS(view::SliceFact, view::kSliceFactFields)
ORRERY_SET_FIELDS(view::SliceDetails, view::kSliceDetailsFields)
ORRERY_SET_FIELDS(view::CollectiveInstance, view::kCollectiveInstanceFields)
ORRERY_SET_FIELDS(view::Collectives, view::kCollectivesFields)
ORRERY_SET_FIELDS(view::Hop, view::kHopFields)
ORRERY_SET_FIELDS(view::Critical, view::kCriticalFields)
ORRERY_SET_FIELDS(view::KernelOfRange, view::kKernelOfRangeFields)
ORRERY_SET_FIELDS(view::RankOfRange, view::kRankOfRangeFields)
ORRERY_SET_FIELDS(view::RangeTotals, view::kRangeTotalsFields)
ORRERY_SET_FIELDS(view::FoundName, view::kFoundNameFields)
ORRERY_SET_FIELDS(view::Found, view::kFoundFields)

}  // namespace orrery::api
