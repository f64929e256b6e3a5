#include "orrery/api/memory/timeline.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/api/errors.h"
#include "orrery/api/fields/documents.h"
#include "orrery/api/memory/tool.h"
#include "orrery/base/error.h"
#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/chart/charts.h"
#include "orrery/draw/format.h"
#include "orrery/memory/coverage.h"
#include "orrery/memory/timeline/comparison.h"
#include "orrery/memory/timeline/history.h"
#include "orrery/memory/timeline/timeline.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::api {
namespace {

using memory::timeline::AlignBy;
using memory::timeline::Alignment;
using memory::timeline::Axis;
using memory::timeline::RankSpread;
using memory::timeline::StackBy;
using memory::timeline::Timeline;

constexpr std::size_t kMostPictures = 8;       // of ranks and places, two each
constexpr std::int64_t kSmallestDrawn = 1000;  // of the largest place of a rank, its share

// Of files of one run a rank is what the content says, else its place on the command line.
std::int32_t RankOf(const trace::Trace& trace, std::size_t place) {
  return trace.info.rank >= 0 ? trace.info.rank : static_cast<std::int32_t>(place);
}

std::vector<RankMemory> RanksOf(const MemoryInput& input, Axis axis, StackBy stack) {
  std::vector<RankMemory> ranks;
  for (const MemoryRun& run : input.runs) {
    for (const trace::Trace* const trace : run.ranks) {
      RankMemory& rank = ranks.emplace_back();
      rank.recording = run.title;
      rank.trace = trace;
      rank.history = memory::timeline::HistoryOf(*trace);
      rank.timelines =
          TimelinesOf(*trace, rank.history,
                      {.rank = RankOf(*trace, ranks.size() - 1), .axis = axis, .stack = stack});
    }
  }
  return ranks;
}

// The timeline of a rank's first device.
const Timeline* FirstOf(const RankMemory& rank) {
  return rank.timelines.empty() ? nullptr : &rank.timelines.front();
}

void AddSpread(const std::vector<RankMemory>& ranks, MemoryToolResult& page) {
  std::vector<const trace::Trace*> traces;
  std::vector<Timeline> timelines;
  for (const RankMemory& rank : ranks) {
    traces.push_back(rank.trace);
    timelines.insert(timelines.end(), rank.timelines.begin(), rank.timelines.end());
  }
  const RankSpread spread = SpreadOf(traces, timelines);
  page.facts.push_back({"smallest_peak_bytes", "smallest peak", spread.smallest_bytes, Unit::kBytes,
                        fmt::format("rank {}", spread.smallest_rank)});
  page.facts.push_back({"largest_peak_bytes", "largest peak", spread.largest_bytes, Unit::kBytes,
                        fmt::format("rank {}", spread.largest_rank)});
  page.facts.push_back(
      {"peak_spread", "largest over smallest", spread.Percent() / 100, Unit::kShare});
  page.facts.push_back({"kinds_of_ranks", "ranks that differ",
                        static_cast<std::int64_t>(spread.alike.size()), Unit::kCount,
                        "kinds; ranks of one kind change their memory alike"});
  std::string kinds;
  for (const std::vector<std::int32_t>& alike : spread.alike) {
    kinds += fmt::format("{}{}", kinds.empty() ? "" : "; ", fmt::join(alike, ", "));
  }
  page.sentences.push_back(fmt::format("Ranks that are alike: {}.", kinds));
  if (!spread.groups.empty()) {
    page.tables.push_back(GroupTable(spread));
  }
}

void AddRemarks(const std::vector<RankMemory>& ranks, MemoryToolResult& page) {
  std::int64_t num_frees = 0;
  std::int64_t difference = 0;
  std::int64_t assumed = 0;
  for (const RankMemory& rank : ranks) {
    num_frees += rank.history.num_unknown_frees;
    difference = std::max(difference, rank.history.largest_difference);
    assumed += rank.history.assumed_bytes;
  }
  page.sentences.emplace_back(
      "Categories are those that the recording names; else they follow from the operators that "
      "allocate and from what runs when memory is freed.");
  if (num_frees > 0) {
    page.sentences.push_back(fmt::format("{} frees are of memory from before the recording.",
                                         draw::FormatCount(num_frees)));
  }
  if (assumed > 0) {
    page.sentences.push_back(fmt::format(
        "{} are freed without a recorded allocation or total: they are assumed to be in use from "
        "the first event on, or, once the allocator has stated a total, just before the free.",
        draw::FormatBinaryBytes({assumed})));
  }
  if (difference > 0) {
    page.sentences.push_back(
        fmt::format("The allocator's own totals are up to {} away from the sum of its events: some "
                    "are missing.",
                    draw::FormatBinaryBytes({difference})));
  }
}

// A few bytes of the host next to gigabytes of a GPU are a row of the table and no picture.
bool IsWorthAPicture(const Timeline& timeline, const RankMemory& rank) {
  std::int64_t largest = 0;
  for (const Timeline& other : rank.timelines) {
    largest = std::max(largest, other.peak.bytes);
  }
  return timeline.peak.bytes >= largest / kSmallestDrawn;
}

// Of recordings side by side by their titles, of ranks of one run by their numbers.
std::string PictureTitle(const std::vector<RankMemory>& ranks, const RankMemory& rank,
                         const Timeline& timeline, bool is_aligned) {
  if (is_aligned) {
    return fmt::format("{}, {}", rank.recording, PlaceName(timeline.place));
  }
  return ranks.size() > 1 ? fmt::format("rank {}, {}", timeline.rank, PlaceName(timeline.place))
                          : PlaceName(timeline.place);
}

void AddPictures(const std::vector<RankMemory>& ranks, Axis axis, bool is_aligned,
                 MemoryToolResult& page) {
  const std::vector<draw::Series> categories = CategoriesOf(ranks);
  for (const RankMemory& rank : ranks) {
    for (const Timeline& timeline : rank.timelines) {
      if (page.pictures.size() >= 2 * kMostPictures) {
        return;
      }
      if (!IsWorthAPicture(timeline, rank)) {
        continue;
      }
      const std::string title = PictureTitle(ranks, rank, timeline, is_aligned);
      page.pictures.push_back(LayerPicture(timeline, axis, title));
      page.pictures.push_back(CategoryPicture(timeline, axis, title, categories));
    }
  }
}

std::string_view AxisTitleOf(AlignBy by) {
  switch (by) {
    case AlignBy::kProgress:
      return "share of the steps";
    case AlignBy::kOperator:
      return "operators that both have";
    case AlignBy::kEvent:
      break;
  }
  return "allocations and frees";
}

Document::Picture AlignedPicture(const Alignment& alignment, const MemoryInput& input) {
  const bool is_progress = alignment.by == AlignBy::kProgress;
  const double width = is_progress ? 100.0 / static_cast<double>(alignment.moments.size()) : 1;
  draw::LineChart chart{
      .lines = {{.series = {.name = input.runs[0].title, .style = "compute"}},
                {.series = {.name = input.runs[1].title, .style = "transfer"}}},
      .x_quantity = is_progress ? draw::Quantity::kPercent : draw::Quantity::kNumber,
      .y_quantity = draw::Quantity::kBinaryBytes,
      .x_title = std::string(AxisTitleOf(alignment.by)),
      .description = "Two recordings side by side"};
  for (std::size_t i = 0; i < alignment.moments.size(); ++i) {
    const double begin = width * static_cast<double>(i);
    const double end = width * static_cast<double>(i + 1);
    chart.lines[0].segments.push_back(
        {begin, end, static_cast<double>(alignment.moments[i].first_bytes)});
    chart.lines[1].segments.push_back(
        {begin, end, static_cast<double>(alignment.moments[i].second_bytes)});
  }
  return {.heading = "Two recordings side by side",
          .svg = draw::RenderLineChart(chart),
          .caption = "The highest of each moment.",
          .legend = {chart.lines[0].series, chart.lines[1].series}};
}

bool IsOfHost(const Timeline& timeline) {
  return timeline.place.kind == trace::DeviceKind::kCpu;
}

// A file may have events of the host's memory alone: they say nothing of the other's GPU.
Status CheckComparable(const Timeline& first, const Timeline& second, const MemoryInput& input) {
  if (IsOfHost(first) == IsOfHost(second)) {
    return {};
  }
  const std::size_t of_host = IsOfHost(first) ? 0 : 1;
  return NotFound(
      "--align: {} has memory events of the CPU alone, which are not compared "
      "with those of {}",
      input.runs[of_host].title, PlaceName((of_host == 0 ? second : first).place));
}

struct TimelineOptions {
  Axis axis = Axis::kTime;
  StackBy stack = StackBy::kCategory;
  std::optional<AlignBy> align = {};
  bool has_all_points = false;
};

void AddFacts(const std::vector<RankMemory>& ranks, MemoryToolResult& page) {
  if (ranks.size() > 1) {
    AddSpread(ranks, page);
    return;
  }
  const Timeline* const timeline = FirstOf(ranks.front());
  page.facts.push_back({"peak_bytes", "peak",
                        timeline == nullptr ? std::int64_t{0} : timeline->peak.bytes, Unit::kBytes,
                        timeline == nullptr ? "" : PlaceName(timeline->place)});
  if (timeline != nullptr) {
    page.facts.push_back({"without_owner_bytes", "of it without an object",
                          timeline->peak.bytes_without_owner, Unit::kBytes});
  }
}

Status AddAlignment(const std::vector<RankMemory>& ranks, const MemoryInput& input, AlignBy align,
                    MemoryToolResult& page) {
  if (ranks.size() != 2) {
    return InvalidInput(
        "--align compares two recordings of one rank each, here are {} "
        "(--rank N chooses)",
        ranks.size());
  }
  const Timeline* const first = FirstOf(ranks[0]);
  const Timeline* const second = FirstOf(ranks[1]);
  if (first == nullptr || second == nullptr) {
    return NotFound("--align: a recording without memory events");
  }
  ORRERY_TRY_STATUS(CheckComparable(*first, *second, input));
  ORRERY_TRY(const Alignment alignment,
             Align({.trace = ranks[0].trace, .timeline = first},
                   {.trace = ranks[1].trace, .timeline = second}, align));
  page.facts = {
      {"first_peak_bytes", "peak of the first", first->peak.bytes, Unit::kBytes},
      {"second_peak_bytes", "peak of the second", second->peak.bytes, Unit::kBytes},
      {"first_changes", "changes of the first", static_cast<std::int64_t>(first->points.size())},
      {"second_changes", "changes of the second", static_cast<std::int64_t>(second->points.size())},
      {"mean_difference_bytes", "second less first, on average", alignment.MeanDifference(),
       Unit::kBytes},
      {"furthest_difference_bytes", "furthest apart", alignment.Furthest().Difference(),
       Unit::kBytes, alignment.Furthest().label}};
  if (align == AlignBy::kEvent) {
    page.sentences.emplace_back(
        "Changes of equal number need not be related: the raw view compares them all the same.");
  }
  if (alignment.num_only_first + alignment.num_only_second > 0) {
    page.sentences.push_back(fmt::format("Without a partner: {} of the first, {} of the second.",
                                         alignment.num_only_first, alignment.num_only_second));
  }
  page.tables.push_back(AlignedTable(alignment, input.top));
  page.pictures.push_back(AlignedPicture(alignment, input));
  return {};
}

Result<MemoryToolResult> PageOf(const MemoryInput& input, const TimelineOptions& options) {
  const std::vector<RankMemory> ranks = RanksOf(input, options.axis, options.stack);
  MemoryToolResult page;
  if (options.align) {
    ORRERY_TRY_STATUS(AddAlignment(ranks, input, *options.align, page));
  } else {
    AddFacts(ranks, page);
  }
  AddRemarks(ranks, page);
  std::vector<Document::Table> tables = PeakTables(ranks, input.top, options.has_all_points);
  page.tables.insert(page.tables.begin(), std::move(tables.front()));
  std::move(tables.begin() + 1, tables.end(), std::back_inserter(page.tables));
  AddPictures(ranks, options.axis, options.align.has_value(), page);
  return page;
}

TimelineOptions OptionsOf(const MemoryRequest& request) {
  TimelineOptions options{
      .axis = request.by == "event"      ? Axis::kEvent
              : request.by == "operator" ? Axis::kOperator
                                         : Axis::kTime,
      .stack = request.stack == "operator" ? StackBy::kOperator : StackBy::kCategory,
      .has_all_points = request.all_points};
  if (!request.align.empty()) {
    options.align = request.align == "progress"   ? AlignBy::kProgress
                    : request.align == "operator" ? AlignBy::kOperator
                                                  : AlignBy::kEvent;
  }
  return options;
}

}  // namespace

MemoryTool TimelineTool(const MemoryRequest& request) {
  const TimelineOptions options = OptionsOf(request);
  return {
      .name = "timeline",
      .line = "memory over time, its peak and who holds it; ranks, or two recordings, side by side",
      .first_field = "by",
      .last_field = "all_points",
      .needs = {memory::Need::kMemoryEvents},
      .reads = MemoryTool::Reads::kRuns,
      .run_whole = [options](const MemoryInput& input) { return PageOf(input, options); }};
}

}  // namespace orrery::api
