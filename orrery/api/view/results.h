#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/api/fields.h"
#include "orrery/base/document/value.h"

// Answers of a view. Times are nanoseconds after the run's begin.

namespace orrery::api {
namespace view {

/// Columns of numbers, little-endian, in the layout that docs/formats/view.md describes.
struct Columns {
  std::string bytes = {};
};

struct Step {
  std::string name = {};
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

struct RunInfo {
  std::string name = {};
  std::string kind = {};
  std::string begin_ns = {};  // a text, since JavaScript has no integers of 64 bits
  std::int64_t length_ns = 0;
  std::int64_t num_ranks = 0;
  std::int64_t num_traces = 0;
  std::int64_t num_events = 0;
  std::vector<std::string> problems = {};
  std::vector<Step> steps = {};
  std::optional<std::int64_t> steps_rank = {};
  std::optional<double> step_ns = {};
  std::optional<std::string> step_definition = {};
  bool can_predict = false;
  std::string can_what_if = {};
  bool has_memory = false;
};

struct ActivityClass {
  std::string key = {};
  std::string name = {};
};

struct SessionInfo {
  std::string version = {};
  std::string title = {};
  std::vector<RunInfo> runs = {};
  bool can_open_plans = false;
  std::vector<ActivityClass> classes = {};
  std::vector<std::string> tabs = {};
};

/// Columns of equal length.
struct Ranks {
  std::vector<std::int32_t> rank = {};
  std::vector<std::uint32_t> trace = {};
  std::vector<std::int32_t> stage = {};
  std::vector<std::int32_t> node = {};
  std::vector<std::int64_t> late_ns = {};
  std::vector<std::string> label = {};
};

struct Track {
  std::int64_t track = 0;
  std::string group = {};
  std::string name = {};
  std::string kind = {};
  std::int64_t depth = 0;
  std::int64_t count = 0;
};

/// A slice of the timeline, and the way to it.
struct SlicePlace {
  std::uint32_t rank = 0;
  std::uint32_t track = 0;
  std::uint32_t row = 0;
  std::int64_t begin_ns = 0;
  std::int64_t duration_ns = 0;
  std::string name = {};
  std::int64_t depth = 0;
};

struct SliceFact {
  std::string name = {};
  std::string value = {};
  std::optional<SlicePlace> place = {};
};

struct SliceDetails {
  std::string name = {};
  std::int64_t begin_ns = 0;
  std::int64_t duration_ns = 0;
  std::string class_key = {};
  std::vector<SliceFact> facts = {};
  std::optional<SlicePlace> launch = {};
  std::vector<SlicePlace> kernels = {};
  std::optional<std::int64_t> collective = {};
  std::vector<std::string> stack = {};
};

struct CollectiveInstance {
  std::int64_t id = 0;
  std::string kind = {};
  std::string group = {};
  std::int64_t bytes = 0;
  std::int64_t begin_ns = 0;
  std::int64_t arrival_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t last_rank = 0;
  std::vector<std::uint32_t> ranks = {};
  std::vector<std::int64_t> begins_ns = {};
  std::vector<std::int64_t> ends_ns = {};
  std::vector<std::string> flags = {};
};

struct Collectives {
  std::int64_t total = 0;
  std::vector<CollectiveInstance> instances = {};
};

struct Hop {
  std::int64_t begin_ns = 0;
  std::int64_t duration_ns = 0;
  std::optional<std::int64_t> rank = {};
  std::optional<std::int64_t> track = {};
  std::string class_key = {};
  std::string name = {};
};

struct Critical {
  std::int64_t step = 0;
  std::int64_t begin_ns = 0;
  std::int64_t length_ns = 0;
  std::vector<Hop> hops = {};
};

struct KernelOfRange {
  std::string name = {};
  std::string class_key = {};
  std::int64_t count = 0;
  std::int64_t ns = 0;
};

struct RankOfRange {
  std::uint32_t rank = 0;
  std::string label = {};
  std::vector<std::int64_t> classes = {};
};

struct RangeTotals {
  std::vector<std::int64_t> classes = {};
  std::vector<KernelOfRange> kernels = {};
  std::int64_t num_kernels = 0;
  std::vector<RankOfRange> ranks = {};
};

struct FoundName {
  std::string name = {};
  std::int64_t count = 0;
  std::int64_t ns = 0;
};

struct Found {
  std::int64_t total = 0;
  std::vector<FoundName> names = {};
  std::vector<SlicePlace> hits = {};
};

struct TableColumn {
  std::string name = {};
  std::string align = {};
  std::string unit = {};
};

struct TableData {
  std::string heading = {};
  std::string caption = {};
  std::vector<TableColumn> columns = {};
  std::vector<std::vector<std::string>> rows = {};
  std::vector<std::vector<std::optional<double>>> keys = {};
  std::vector<std::optional<SlicePlace>> links = {};
};

struct PointSeries {
  std::string name = {};
  std::vector<std::int64_t> x = {};
  std::vector<std::int64_t> y = {};
};

struct Points {
  std::string x_unit = {};
  std::string y_unit = {};
  bool x_log = false;
  std::vector<PointSeries> series = {};
};

struct Fact {
  std::string label = {};
  std::string value = {};
  std::string note = {};
};

struct Finding {
  std::string text = {};
  std::string more = {};
  std::optional<double> share = {};
};

struct ChartKey {
  std::string name = {};
  std::string style = {};
};

struct Chart {
  std::string heading = {};
  std::string svg = {};
  std::string caption = {};
  std::vector<ChartKey> legend = {};
};

struct Section {
  std::string heading = {};
  std::vector<Fact> facts = {};
  std::vector<Finding> findings = {};
  std::vector<std::string> sentences = {};
  std::vector<TableData> tables = {};
  std::vector<Chart> charts = {};
  std::optional<Points> points = {};
};

struct TabPage {
  std::string title = {};
  std::vector<Section> sections = {};
};

struct Change {
  std::string what = {};
  std::string name = {};
  std::string change = {};
  double before_ns = 0;
  double after_ns = 0;
  double count_before = 0;
  double count_after = 0;
  std::optional<SlicePlace> a = {};
  std::optional<SlicePlace> b = {};
};

/// A number of the first run and one of the second; a list of two in JSON.
struct Both {
  std::int64_t first = 0;
  std::int64_t second = 0;

  operator Value() const { return Value::List().Add(first).Add(second); }  // NOLINT: implicit

  bool operator==(const Both&) const = default;
};

/// A collective that is in both runs.
struct CollectiveChange {
  std::string name = {};
  std::int64_t step = 0;
  Both transfer_ns = {};
  Both wait_ns = {};
  Both begin_ns = {};
  std::optional<SlicePlace> a = {};
  std::optional<SlicePlace> b = {};
};

struct Differences {
  std::int64_t offset_ns = 0;
  std::int64_t common_collectives = 0;
  std::string notice = {};
  std::vector<Both> pairs = {};
  std::vector<CollectiveChange> collectives = {};
  std::optional<double> step_before_ns = {};
  std::optional<double> step_after_ns = {};
  std::vector<Both> steps = {};
  std::vector<Change> changes = {};
};

struct Prediction {
  std::optional<double> step_ns = {};
  std::int64_t run = 0;
  std::vector<std::string> sentences = {};
};

struct OpenedPlan {
  std::string name = {};
  std::int64_t step_ns = 0;
  std::int64_t run = 0;
};

struct WhatIfAnswer {
  std::int64_t before_ns = 0;
  std::int64_t after_ns = 0;
  std::vector<std::string> sentences = {};
  std::optional<std::int64_t> run = {};
};

}  // namespace view

template <>
Value internal::Schema<view::Both>();

ORRERY_HAS_FIELDS(view::Step);
ORRERY_HAS_FIELDS(view::RunInfo);
ORRERY_HAS_FIELDS(view::ActivityClass);
ORRERY_HAS_FIELDS(view::SessionInfo);
ORRERY_HAS_FIELDS(view::Ranks);
ORRERY_HAS_FIELDS(view::Track);
ORRERY_HAS_FIELDS(view::SlicePlace);
ORRERY_HAS_FIELDS(view::SliceFact);
ORRERY_HAS_FIELDS(view::SliceDetails);
ORRERY_HAS_FIELDS(view::CollectiveInstance);
ORRERY_HAS_FIELDS(view::Collectives);
ORRERY_HAS_FIELDS(view::Hop);
ORRERY_HAS_FIELDS(view::Critical);
ORRERY_HAS_FIELDS(view::KernelOfRange);
ORRERY_HAS_FIELDS(view::RankOfRange);
ORRERY_HAS_FIELDS(view::RangeTotals);
ORRERY_HAS_FIELDS(view::FoundName);
ORRERY_HAS_FIELDS(view::Found);
ORRERY_HAS_FIELDS(view::TableColumn);
ORRERY_HAS_FIELDS(view::TableData);
ORRERY_HAS_FIELDS(view::PointSeries);
ORRERY_HAS_FIELDS(view::Points);
ORRERY_HAS_FIELDS(view::Fact);
ORRERY_HAS_FIELDS(view::Finding);
ORRERY_HAS_FIELDS(view::ChartKey);
ORRERY_HAS_FIELDS(view::Chart);
ORRERY_HAS_FIELDS(view::Section);
ORRERY_HAS_FIELDS(view::TabPage);
ORRERY_HAS_FIELDS(view::Change);
ORRERY_HAS_FIELDS(view::CollectiveChange);
ORRERY_HAS_FIELDS(view::Differences);
ORRERY_HAS_FIELDS(view::Prediction);
ORRERY_HAS_FIELDS(view::OpenedPlan);
ORRERY_HAS_FIELDS(view::WhatIfAnswer);

}  // namespace orrery::api
