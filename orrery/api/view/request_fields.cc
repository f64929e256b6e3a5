#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "orrery/api/fields.h"
#include "orrery/api/view/requests.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"

namespace orrery::api {
namespace view {
namespace {

constexpr std::string_view kRun = "Place of the run; 0 if it is left out";
constexpr std::string_view kRank = "Row of the rank among those of the run";
constexpr std::string_view kLevel = "Bins of the tile last 2^level ns";
constexpr std::string_view kTile = "Number of the tile on its level";
constexpr std::string_view kTrack = "Place of the track among those of the rank";
constexpr std::string_view kBegin = "Begin of the window; 0 if it is left out";
constexpr std::string_view kEnd = "End of the window; that of the run if it is left out";
constexpr std::string_view kOrder = "Order of ranks: by row if it is left out";
constexpr std::array<std::string_view, 4> kOrders = {"rank", "stage", "node", "late"};

constexpr auto kRunFields = std::to_array<Field<RunRequest>>({
    MakeField<&RunRequest::run>("run", "", kRun),
});

constexpr auto kActivityFields = std::to_array<Field<ActivityRequest>>({
    MakeField<&ActivityRequest::run>("run", "", kRun),
    MakeField<&ActivityRequest::level>("level", "", kLevel),
    MakeField<&ActivityRequest::tile>("tile", "", kTile),
    MakeField<&ActivityRequest::order>("order", "", kOrder).Choices(kOrders),
    MakeField<&ActivityRequest::first>("first", "", "First line; 0 if it is left out"),
    MakeField<&ActivityRequest::count>("count", "", "Number of lines"),
    MakeField<&ActivityRequest::fold>("fold", "", "Ranks of a line; 1 if it is left out"),
});

constexpr auto kTracksFields = std::to_array<Field<TracksRequest>>({
    MakeField<&TracksRequest::run>("run", "", kRun),
    MakeField<&TracksRequest::rank>("rank", "", kRank),
});

constexpr auto kSlicesFields = std::to_array<Field<SlicesRequest>>({
    MakeField<&SlicesRequest::run>("run", "", kRun),
    MakeField<&SlicesRequest::rank>("rank", "", kRank),
    MakeField<&SlicesRequest::track>("track", "", kTrack),
    MakeField<&SlicesRequest::level>("level", "", kLevel),
    MakeField<&SlicesRequest::tile>("tile", "", kTile),
});

constexpr auto kSliceFields = std::to_array<Field<SliceRequest>>({
    MakeField<&SliceRequest::run>("run", "", kRun),
    MakeField<&SliceRequest::rank>("rank", "", kRank),
    MakeField<&SliceRequest::track>("track", "", kTrack),
    MakeField<&SliceRequest::row>("row", "", "Row of the slice in the table of its track"),
});

constexpr auto kLaunchesFields = std::to_array<Field<LaunchesRequest>>({
    MakeField<&LaunchesRequest::run>("run", "", kRun),
    MakeField<&LaunchesRequest::rank>("rank", "", kRank),
    MakeField<&LaunchesRequest::begin>("begin", "ns", kBegin),
    MakeField<&LaunchesRequest::end>("end", "ns", kEnd),
    MakeField<&LaunchesRequest::most>("most", "", "Most launches: the longest delays"),
});

constexpr auto kCollectivesFields = std::to_array<Field<CollectivesRequest>>({
    MakeField<&CollectivesRequest::run>("run", "", kRun),
    MakeField<&CollectivesRequest::begin>("begin", "ns", kBegin),
    MakeField<&CollectivesRequest::end>("end", "ns", kEnd),
    MakeField<&CollectivesRequest::most>("most", "", "Most collectives: the longest"),
});

constexpr auto kRangeFields = std::to_array<Field<RangeRequest>>({
    MakeField<&RangeRequest::run>("run", "", kRun),
    MakeField<&RangeRequest::begin>("begin", "ns", kBegin),
    MakeField<&RangeRequest::end>("end", "ns", kEnd),
    MakeField<&RangeRequest::order>("order", "", kOrder).Choices(kOrders),
    MakeField<&RangeRequest::first>("first", "", "First rank in that order"),
    MakeField<&RangeRequest::count>("count", "", "Number of ranks; all if it is left out"),
});

constexpr auto kFindFields = std::to_array<Field<FindRequest>>({
    MakeField<&FindRequest::run>("run", "", kRun),
    MakeField<&FindRequest::text>("text", "", "Part of a name, or /regex/ (RE2)"),
    MakeField<&FindRequest::from>("from", "ns", "Begin of the first hit"),
    MakeField<&FindRequest::rank>("rank", "", "Row of the only rank; -1: all traces"),
    MakeField<&FindRequest::most>("most", "", "Most hits"),
});

constexpr auto kTabFields = std::to_array<Field<TabRequest>>({
    MakeField<&TabRequest::run>("run", "", kRun),
    MakeField<&TabRequest::name>("name", "", "Name of the tab, one of those of the session"),
});

constexpr auto kDifferencesFields = std::to_array<Field<DifferencesRequest>>({
    MakeField<&DifferencesRequest::a>("a", "", "Place of the first run"),
    MakeField<&DifferencesRequest::b>("b", "", "Place of the second run"),
});

constexpr auto kPlanFields = std::to_array<Field<PlanRequest>>({
    MakeField<&PlanRequest::plan>("plan", "", "Row of the plan in the tab search"),
});

constexpr auto kChangeFields = std::to_array<Field<WhatIfChange>>({
    MakeField<&WhatIfChange::subject>(
        "subject", "", "Part that changes: compute, class, network, host, kernel, rank, gpus, …"),
    MakeField<&WhatIfChange::name>("name", "", "Name of the kernel, class, rank or value"),
    MakeField<&WhatIfChange::speedup>("speedup", "", "How many times as fast"),
});

constexpr auto kWhatIfFields = std::to_array<Field<WhatIfRequest>>({
    MakeField<&WhatIfRequest::run>("run", "", kRun),
    MakeField<&WhatIfRequest::changes>("changes", "", "Changes, all at once"),
    MakeField<&WhatIfRequest::keep>("keep", "", "Whether the simulated run stays open"),
});

}  // namespace
}  // namespace view

std::span<const Field<view::SessionRequest>> FieldList<view::SessionRequest>::Get() {
  return {};
}

ORRERY_SET_FIELDS(view::RunRequest, view::kRunFields)
ORRERY_SET_FIELDS(view::ActivityRequest, view::kActivityFields)
ORRERY_SET_FIELDS(view::TracksRequest, view::kTracksFields)
ORRERY_SET_FIELDS(view::SlicesRequest, view::kSlicesFields)
ORRERY_SET_FIELDS(view::SliceRequest, view::kSliceFields)
ORRERY_SET_FIELDS(view::LaunchesRequest, view::kLaunchesFields)
ORRERY_SET_FIELDS(view::CollectivesRequest, view::kCollectivesFields)
ORRERY_SET_FIELDS(view::RangeRequest, view::kRangeFields)
ORRERY_SET_FIELDS(view::FindRequest, view::kFindFields)
ORRERY_SET_FIELDS(view::TabRequest, view::kTabFields)
ORRERY_SET_FIELDS(view::DifferencesRequest, view::kDifferencesFields)
ORRERY_SET_FIELDS(view::PlanRequest, view::kPlanFields)
ORRERY_SET_FIELDS(view::WhatIfChange, view::kChangeFields)
ORRERY_SET_FIELDS(view::WhatIfRequest, view::kWhatIfFields)

template <>
Result<view::WhatIfRequest> FromValue<view::WhatIfRequest>(const Value& object) {
  ORRERY_TRY_STATUS(internal::CheckObject(object));
  if (object.Find("changes") == nullptr) {
    return Invalid("the question has no changes");
  }
  view::WhatIfRequest request;
  for (const auto& [name, value] : object.fields()) {
    if (name != "changes") {
      ORRERY_TRY_STATUS(internal::SetField(request, name, value));
      continue;
    }
    if (!value.IsList()) {
      return Invalid("changes must be a list");
    }
    for (const Value& item : value.items()) {
      ORRERY_TRY(view::WhatIfChange change, FromValue<view::WhatIfChange>(item));
      request.changes.push_back(std::move(change));
    }
  }
  return request;
}

}  // namespace orrery::api
