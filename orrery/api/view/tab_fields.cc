#include <array>
#include <string_view>

#include "orrery/api/fields.h"
#include "orrery/api/view/results.h"
#include "orrery/base/document/value.h"

namespace orrery::api {
namespace view {
namespace {

constexpr std::array<std::string_view, 2> kAligns = {"left", "right"};

constexpr auto kTableColumnFields = std::to_array<Field<TableColumn>>({
    MakeField<&TableColumn::name>("name", "", "Head of the column"),
    MakeField<&TableColumn::align>("align", "", "Alignment").Choices(kAligns),
    MakeField<&TableColumn::unit>("unit", "", "Unit; empty: part of the text"),
});

constexpr auto kTableDataFields = std::to_array<Field<TableData>>({
    MakeField<&TableData::heading>("heading", "", "Heading"),
    MakeField<&TableData::caption>("caption", "", "Text below the table"),
    MakeField<&TableData::columns>("columns", "", "Columns"),
    MakeField<&TableData::rows>("rows", "", "Texts of the cells"),
    MakeField<&TableData::keys>("keys", "", "Numbers to sort by; null: the text is sorted"),
    MakeField<&TableData::links>("links", "", "Slice that each row leads to").IfAny(),
});

constexpr auto kPointSeriesFields = std::to_array<Field<PointSeries>>({
    MakeField<&PointSeries::name>("name", "", "Name"),
    MakeField<&PointSeries::x>("x", "", "Places along x"),
    MakeField<&PointSeries::y>("y", "", "Values"),
});

constexpr auto kPointsFields = std::to_array<Field<Points>>({
    MakeField<&Points::x_unit>("x_unit", "", "Unit of x: ns, bytes or bytes/s"),
    MakeField<&Points::y_unit>("y_unit", "", "Unit of y"),
    MakeField<&Points::x_log>("x_log", "", "Whether x is logarithmic"),
    MakeField<&Points::series>("series", "", "Series"),
});

constexpr auto kFactFields = std::to_array<Field<Fact>>({
    MakeField<&Fact::label>("label", "", "Name for people"),
    MakeField<&Fact::value>("value", "", "Value for people"),
    MakeField<&Fact::note>("note", "", "Remark"),
});

constexpr auto kFindingFields = std::to_array<Field<Finding>>({
    MakeField<&Finding::text>("text", "", "Sentence"),
    MakeField<&Finding::more>("more", "", "Evidence, or what to do"),
    MakeField<&Finding::share>("share", "", "Share of the time, 0 to 1"),
});

constexpr auto kChartKeyFields = std::to_array<Field<ChartKey>>({
    MakeField<&ChartKey::name>("name", "", "Name"),
    MakeField<&ChartKey::style>("style", "", "Style of its marks"),
});

constexpr auto kChartFields = std::to_array<Field<Chart>>({
    MakeField<&Chart::heading>("heading", "", "Heading"),
    MakeField<&Chart::svg>("svg", "", "Drawing, in which names are escaped"),
    MakeField<&Chart::caption>("caption", "", "Text below the chart"),
    MakeField<&Chart::legend>("legend", "", "Legend"),
});

constexpr auto kSectionFields = std::to_array<Field<Section>>({
    MakeField<&Section::heading>("heading", "", "Heading"),
    MakeField<&Section::facts>("facts", "", "Fields with values"),
    MakeField<&Section::findings>("findings", "", "Findings, the largest first"),
    MakeField<&Section::sentences>("sentences", "", "Sentences"),
    MakeField<&Section::tables>("tables", "", "Tables"),
    MakeField<&Section::charts>("charts", "", "Charts"),
    MakeField<&Section::points>("points", "", "Chart that the page draws").IfKnown(),
});

constexpr auto kTabPageFields = std::to_array<Field<TabPage>>({
    MakeField<&TabPage::title>("title", "", "Title"),
    MakeField<&TabPage::sections>("sections", "", "Sections"),
});

constexpr auto kChangeFields = std::to_array<Field<Change>>({
    MakeField<&Change::what>("what", "",
                             "Kind of cost: kernel class, kernel, collective or operator"),
    MakeField<&Change::name>("name", "", "Name"),
    MakeField<&Change::change>("change", "", "Kind of change"),
    MakeField<&Change::before_ns>("before_ns", "ns", "Time a step in the first run"),
    MakeField<&Change::after_ns>("after_ns", "ns", "Time a step in the second run"),
    MakeField<&Change::count_before>("count_before", "", "Number a step in the first run"),
    MakeField<&Change::count_after>("count_after", "", "Number a step in the second run"),
    MakeField<&Change::a>("a", "", "Longest slice in the first run"),
    MakeField<&Change::b>("b", "", "Longest slice in the second run"),
});

constexpr auto kCollectiveChangeFields = std::to_array<Field<CollectiveChange>>({
    MakeField<&CollectiveChange::name>("name", "", "Kind, size and ranks"),
    MakeField<&CollectiveChange::step>("step", "", "Place of the step"),
    MakeField<&CollectiveChange::transfer_ns>("transfer_ns", "ns", "Transfer time in both runs"),
    MakeField<&CollectiveChange::wait_ns>("wait_ns", "ns",
                                          "Wait of the rank that waits longest in both runs"),
    MakeField<&CollectiveChange::begin_ns>("begin_ns", "ns", "Begin in both runs"),
    MakeField<&CollectiveChange::a>("a", "", "Kernel in the first run"),
    MakeField<&CollectiveChange::b>("b", "", "Kernel in the second run"),
});

constexpr auto kDifferencesFields = std::to_array<Field<Differences>>({
    MakeField<&Differences::offset_ns>("offset_ns", "ns",
                                       "From the time of the second run to that of the first"),
    MakeField<&Differences::common_collectives>("common_collectives", "",
                                                "Number of collectives that are in both"),
    MakeField<&Differences::notice>("notice", "", "Sentence where nothing is in common"),
    MakeField<&Differences::pairs>("pairs", "ns", "Begins of collectives that are in both"),
    MakeField<&Differences::collectives>("collectives", "", "Collectives that changed most"),
    MakeField<&Differences::step_before_ns>("step_before_ns", "ns", "Step time of the first run"),
    MakeField<&Differences::step_after_ns>("step_after_ns", "ns", "Step time of the second run"),
    MakeField<&Differences::steps>("steps", "ns", "Begins of the steps of both"),
    MakeField<&Differences::changes>("changes", "", "Changes, the largest first"),
});

constexpr auto kPredictionFields = std::to_array<Field<Prediction>>({
    MakeField<&Prediction::step_ns>("step_ns", "ns", "Predicted step time"),
    MakeField<&Prediction::run>("run", "", "Place of the predicted run"),
    MakeField<&Prediction::sentences>("sentences", "", "Comparison with the recording"),
});

constexpr auto kOpenedPlanFields = std::to_array<Field<OpenedPlan>>({
    MakeField<&OpenedPlan::name>("name", "", "Settings of the plan"),
    MakeField<&OpenedPlan::step_ns>("step_ns", "ns", "Step time"),
    MakeField<&OpenedPlan::run>("run", "", "Place of the simulated run"),
});

constexpr auto kWhatIfAnswerFields = std::to_array<Field<WhatIfAnswer>>({
    MakeField<&WhatIfAnswer::before_ns>("before_ns", "ns", "Step time"),
    MakeField<&WhatIfAnswer::after_ns>("after_ns", "ns", "Step time with the changes"),
    MakeField<&WhatIfAnswer::sentences>("sentences", "",
                                        "Result in words, and how it was computed"),
    MakeField<&WhatIfAnswer::run>("run", "", "Place of the simulated run; null: it was not kept"),
});

}  // namespace
}  // namespace view

template <>
Value internal::Schema<view::Both>() {
  return ListSchema(TypeSchema("integer")).Set("minItems", 2).Set("maxItems", 2);
}

ORRERY_SET_FIELDS(view::TableColumn, view::kTableColumnFields)
ORRERY_SET_FIELDS(view::TableData, view::kTableDataFields)
ORRERY_SET_FIELDS(view::PointSeries, view::kPointSeriesFields)
ORRERY_SET_FIELDS(view::Points, view::kPointsFields)
ORRERY_SET_FIELDS(view::Fact, view::kFactFields)
ORRERY_SET_FIELDS(view::Finding, view::kFindingFields)
ORRERY_SET_FIELDS(view::ChartKey, view::kChartKeyFields)
ORRERY_SET_FIELDS(view::Chart, view::kChartFields)
ORRERY_SET_FIELDS(view::Section, view::kSectionFields)
ORRERY_SET_FIELDS(view::TabPage, view::kTabPageFields)
ORRERY_SET_FIELDS(view::Change, view::kChangeFields)
ORRERY_SET_FIELDS(view::CollectiveChange, view::kCollectiveChangeFields)
ORRERY_SET_FIELDS(view::Differences, view::kDifferencesFields)
ORRERY_SET_FIELDS(view::Prediction, view::kPredictionFields)
ORRERY_SET_FIELDS(view::OpenedPlan, view::kOpenedPlanFields)
ORRERY_SET_FIELDS(view::WhatIfAnswer, view::kWhatIfAnswerFields)

}  // namespace orrery::api
