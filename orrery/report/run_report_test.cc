#include "orrery/report/run_report.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/draw/chart/charts.h"
#include "orrery/draw/chart/count_elements_test.h"
#include "orrery/report/document.h"

namespace orrery::report {
namespace {

using draw::CountElements;
using draw::CountOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int32_t kGroupSize = 8;
constexpr int kNumLayers = 48;
constexpr auto kTransfer = static_cast<std::uint8_t>(Part::kTransfer);
constexpr auto kMemory = static_cast<std::uint8_t>(Part::kMemory);
constexpr std::int64_t kMicrosecond = 1'000;

// SplitMix64: specified bit for bit, unlike the distributions of the standard library.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}

  std::int64_t Between(std::int64_t low, std::int64_t high) {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    z ^= z >> 31;
    return low + static_cast<std::int64_t>(z % static_cast<std::uint64_t>(high - low + 1));
  }

 private:
  std::uint64_t state_;
};

struct Group {
  std::int32_t first = 0;
  std::int32_t end = 0;
};

// Simulates the run and notes its activities.
class Run {
 public:
  explicit Run(std::int32_t num_ranks)
      : num_ranks_(num_ranks), now_ns_(Count()), rows_(Count()), stragglers_(Count()) {
    for (std::int32_t rank = 0; rank < num_ranks; ++rank) {
      rows_[Index(rank)].label = fmt::format("rank {}", rank);
      stragglers_[Index(rank)].rank = rows_[Index(rank)].label;
    }
  }

  void Fill();
  RunReport Report();

 private:
  struct Event {
    std::string kind;
    Group group;
    std::int32_t last = 0;
    std::int64_t last_arrival_ns = 0;
    std::int64_t transfer_ns = 0;
    std::vector<std::int64_t> late_ns = {};  // of the members
  };

  [[nodiscard]] std::size_t Count() const { return static_cast<std::size_t>(num_ranks_); }

  [[nodiscard]] static std::size_t Index(std::int32_t rank) {
    return static_cast<std::size_t>(rank);
  }

  [[nodiscard]] bool IsSlow(std::int32_t rank) const { return rank % 300 == 5; }

  void Busy(std::int32_t rank, std::int64_t length_ns, Part part);
  void Layer(int layer);
  void Meet(const std::string& kind, Group group, std::int64_t bytes, std::int64_t transfer_ns);
  [[nodiscard]] CriticalPath Path() const;
  [[nodiscard]] Arrivals ArrivalTable() const;
  [[nodiscard]] std::vector<RankTime> Times(std::int64_t length_ns) const;

  std::int32_t num_ranks_;
  Dice dice_{7};
  std::vector<std::int64_t> now_ns_;
  std::vector<draw::TimelineRow> rows_;
  std::vector<Event> events_;
  std::vector<CollectivePoint> points_;
  std::vector<Straggler> stragglers_;
};

void Run::Busy(std::int32_t rank, std::int64_t length_ns, Part part) {
  std::int64_t& now_ns = now_ns_[Index(rank)];
  rows_[Index(rank)].slices.push_back(
      {now_ns, now_ns + length_ns, static_cast<std::uint8_t>(part)});
  now_ns += length_ns;
}

void Run::Meet(const std::string& kind, Group group, std::int64_t bytes, std::int64_t transfer_ns) {
  Event event{.kind = kind, .group = group, .last = group.first, .transfer_ns = transfer_ns};
  std::int64_t first_ns = now_ns_[Index(group.first)];
  for (std::int32_t rank = group.first; rank < group.end; ++rank) {
    event.last = now_ns_[Index(rank)] > now_ns_[Index(event.last)] ? rank : event.last;
    first_ns = std::min(first_ns, now_ns_[Index(rank)]);
  }
  event.last_arrival_ns = now_ns_[Index(event.last)];
  CollectivePoint point{.kind = kind, .bytes = bytes, .transfer_ns = transfer_ns};
  for (std::int32_t rank = group.first; rank < group.end; ++rank) {
    const std::int64_t waiting_ns = event.last_arrival_ns - now_ns_[Index(rank)];
    event.late_ns.push_back(now_ns_[Index(rank)] - first_ns);
    point.waiting_ns += waiting_ns;
    point.duration_ns += waiting_ns + transfer_ns;
    stragglers_[Index(rank)].waiting_ns += waiting_ns;
    Busy(rank, waiting_ns, Part::kWaiting);
    Busy(rank, transfer_ns, Part::kTransfer);
  }
  Straggler& last = stragglers_[Index(event.last)];
  ++last.times_last;
  last.blame_ns += point.waiting_ns;
  last.gain_ns += point.waiting_ns / (std::int64_t{2} * std::max(1, group.end - group.first - 1));
  const double n = group.end - group.first;
  const double factor = kind == "all-reduce" ? 2 * (n - 1) / n : (n - 1) / n;
  point.bus_bytes_per_second =
      static_cast<double>(bytes) * factor * 1e9 / static_cast<double>(transfer_ns);
  points_.push_back(point);
  events_.push_back(std::move(event));
}

void Run::Layer(int layer) {
  for (std::int32_t rank = 0; rank < num_ranks_; ++rank) {
    const std::int64_t usual_ns = dice_.Between(2'300, 2'600) * kMicrosecond;
    Busy(rank, IsSlow(rank) ? usual_ns * 115 / 100 : usual_ns, Part::kCompute);
    now_ns_[Index(rank)] += dice_.Between(5, 140) * kMicrosecond;
    if (rank % 37 == 2 && layer == 17) {
      now_ns_[Index(rank)] += 4'000 * kMicrosecond;
    }
    if (layer % 12 == 0) {
      Busy(rank, dice_.Between(150, 320) * kMicrosecond, Part::kMemory);
    }
  }
  for (std::int32_t first = 0; first < num_ranks_; first += kGroupSize) {
    Meet("all-reduce", {first, std::min(first + kGroupSize, num_ranks_)}, 67'108'864,
         dice_.Between(560, 690) * kMicrosecond);
  }
}

void Run::Fill() {
  for (int layer = 0; layer < kNumLayers; ++layer) {
    Layer(layer);
  }
  for (const std::int64_t bytes : {16'777'216, 134'217'728, 536'870'912}) {
    const std::int64_t transfer_ns = bytes / 42 + dice_.Between(30, 90) * kMicrosecond;
    Meet("reduce-scatter", {0, num_ranks_}, bytes, transfer_ns);
    Meet("all-gather", {0, num_ranks_}, bytes, transfer_ns + 20 * kMicrosecond);
  }
  Meet("all-reduce", {0, num_ranks_}, 32'768, 61 * kMicrosecond);
}

// Backwards: the transfer, then what the last rank did before it arrived.
CriticalPath Run::Path() const {
  CriticalPath path{.step = "Step 12"};
  std::int32_t rank = events_.back().last;
  for (const auto& event : std::views::reverse(events_)) {
    if (rank < event.group.first || rank >= event.group.end) {
      continue;
    }
    const std::int64_t begin_ns = event.last_arrival_ns;
    path.hops.push_back({begin_ns, event.transfer_ns, event.last, "transfer",
                         fmt::format("ncclDevKernel_{}", event.kind)});
    path.num_rank_changes += event.last != rank ? 1 : 0;
    rank = event.last;
    const auto& slices = rows_[Index(rank)].slices;
    auto before = std::ranges::find(slices, begin_ns, &draw::TimelineSlice::begin_ns);
    std::int64_t end_ns = begin_ns;
    while (before != slices.begin() && std::prev(before)->series != kTransfer) {
      --before;
      if (before->end_ns < end_ns) {
        path.hops.push_back({before->end_ns, end_ns - before->end_ns, rank,
                             end_ns - before->end_ns > 130'000 ? "host" : "launch_overhead",
                             "aten::copy_"});
      }
      end_ns = before->begin_ns;
      path.hops.push_back({before->begin_ns, before->end_ns - before->begin_ns, rank,
                           before->series == kMemory ? "memory" : "compute",
                           "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroup"
                           "size1x1x1_execute_segment_k_off_kernel__5x_cublas"});
    }
  }
  std::erase_if(path.hops, [](const Hop& hop) { return hop.duration_ns == 0; });
  std::ranges::reverse(path.hops);
  path.length_ns = path.hops.back().begin_ns + path.hops.back().duration_ns;
  return path;
}

Arrivals Run::ArrivalTable() const {
  Arrivals arrivals;
  for (const draw::TimelineRow& row : rows_) {
    arrivals.ranks.push_back(row.label);
  }
  const std::size_t num_groups = (Count() + kGroupSize - 1) / kGroupSize;
  const std::size_t width = kNumLayers + (events_.size() - kNumLayers * num_groups);
  arrivals.late_ns.assign(Count() * width, -1);
  for (std::size_t i = 0; i < events_.size(); ++i) {
    const Event& event = events_[i];
    const bool is_layer = i < kNumLayers * num_groups;
    const std::size_t column = is_layer ? i / num_groups : kNumLayers + i - kNumLayers * num_groups;
    for (std::size_t member = 0; member < event.late_ns.size(); ++member) {
      arrivals.late_ns[(Index(event.group.first) + member) * width + column] =
          event.late_ns[member];
    }
    if (column == arrivals.collectives.size()) {
      arrivals.collectives.push_back(fmt::format("{}: {}", column, event.kind));
    }
  }
  return arrivals;
}

std::vector<RankTime> Run::Times(std::int64_t length_ns) const {
  std::vector<RankTime> times;
  for (const draw::TimelineRow& row : rows_) {
    RankTime& time = times.emplace_back(RankTime{.label = row.label, .part_ns = {}});
    std::int64_t busy_ns = 0;
    for (const draw::TimelineSlice& slice : row.slices) {
      time.part_ns[slice.series] += slice.end_ns - slice.begin_ns;
      busy_ns += slice.end_ns - slice.begin_ns;
    }
    time.part_ns[static_cast<std::size_t>(Part::kIdle)] = length_ns - busy_ns;
  }
  return times;
}

std::vector<MetricRow> SampleMetrics() {
  return {{"iteration_wall_clock_time", "Time of a training step", 0.60651925, "s", ""},
          {"temporal_breakdown", "How the step divides into compute, communication, memory, idle",
           71.3770383651, "%", ""},
          {"comm_wait_fraction", "Share of communication time that is waiting", 38.006, "%", ""},
          {"busbw_allreduce", "Median bus bandwidth of all-reduces", 194.76, "GB/s", ""},
          {"collective_vol_total_gb", "Bytes in collectives per step", 5.435916288, "GB", ""},
          {"coll_call_num", "Communication operations per step", 84, "", ""},
          {"straggler", "Time lost to the last rank", 0.0716, "", ""},
          {"bubble_size_pipeline", "Share of time in pipeline bubbles", std::nullopt, "%",
           "the run has no pipeline parallelism"},
          {"mfu", "Share of the peak floating-point rate", std::nullopt, "%",
           "the workload card has no num_params"}};
}

void Describe(std::int32_t num_ranks, RunReport& report) {
  report.title = fmt::format("llama-7b, tensor parallel 8, {} ranks", num_ranks);
  for (const auto& [label, value] : {std::pair("ranks", std::to_string(num_ranks)),
                                     {"GPU", "H200 141 GB"},
                                     {"steps", "8 to 12, of 14"},
                                     {"format", "Kineto JSON"},
                                     {"collectives matched", "100 %"},
                                     {"clocks", "aligned, offsets up to 41 µs"}}) {
    report.facts.push_back({.label = label, .value = value, .is_minor = true});
  }
  report.figures = {{.label = "Step time", .value = "187 ms", .note = "mean over ranks"}};
  const auto add = [&](const char* label, const char* value, const char* note, Part part) {
    report.figures.push_back({.label = label,
                              .value = value,
                              .note = note,
                              .series = PartSeries()[static_cast<std::size_t>(part)]});
  };
  add("Compute", "65.2 %", "of the device's time", Part::kCompute);
  add("Waiting", "8.4 %", "for the last rank", Part::kWaiting);
  add("Transfer", "24.1 %", "not hidden by compute", Part::kTransfer);
  add("Idle", "2.2 %", "nothing runs", Part::kIdle);
  report.findings = {
      {"Moving data takes 24 % of the step and no compute hides it.",
       "Most of it is all-reduce of 67.1 MB inside groups of 8; none overlaps with a kernel.",
       0.24},
      {"Rank 5 is the last to arrive at 46 of 55 collectives; the others wait 312 ms for it.",
       "Its compute takes 15 % longer than the median rank's: the same kernels, each slower.",
       0.084},
      {"One moment stands out: at collective 17, rank 2 arrives 4.1 ms late.",
       "Its host launched late: aten::copy_ <lock> & wait.", 0.021},
      {"All clocks agree to 1 µs.", "", std::nullopt}};
  report.roofs = {{"NVLink inside a node", 450e9}, {"network across nodes", 50e9}};
  report.metrics = SampleMetrics();
  report.notes = {"rank 3: 12 kernels without a launch"};
  report.steps = "5 steps";
}

RunReport Run::Report() {
  RunReport report;
  Describe(num_ranks_, report);
  const std::int64_t length_ns = *std::ranges::max_element(now_ns_);
  report.rank_times = Times(length_ns);
  report.critical_path = Path();
  report.arrivals = ArrivalTable();
  report.timeline = StepTimeline{"Step 12", length_ns, std::move(rows_)};
  report.collectives = std::move(points_);
  std::ranges::stable_sort(stragglers_, std::greater{}, &Straggler::blame_ns);
  report.stragglers = std::move(stragglers_);
  return report;
}

// The report of a synthetic run: layers of compute and an all-reduce inside groups of eight, then a
// reduce-scatter and an all-gather over all ranks. One rank in each 300 is slow, and one is late
// once. The same size gives the same report.
RunReport SampleReport(std::int32_t num_ranks) {
  Run run(num_ranks);
  run.Fill();
  return run.Report();
}

// The name of the SVG format is an address that is never fetched.
TEST(RunReportTest, ThePageNeedsNothingElse) {
  const std::string page = RenderHtml(RunDocument(SampleReport(8)));

  EXPECT_EQ(CountOf("http://", page), CountOf("xmlns=\"http://www.w3.org/2000/svg\"", page));
  EXPECT_THAT(page, Not(HasSubstr("https:")));
  EXPECT_THAT(page, Not(HasSubstr("<link")));
  EXPECT_THAT(page, Not(HasSubstr("src=")));
  EXPECT_THAT(page, Not(HasSubstr("@import")));
  EXPECT_THAT(page, Not(HasSubstr("@font-face")));
}

TEST(RunReportTest, ThePageHasALightAndADarkTheme) {
  const std::string page = RenderHtml(RunDocument(SampleReport(8)));

  EXPECT_THAT(page, HasSubstr("@media(prefers-color-scheme:dark)"));
  EXPECT_THAT(page, HasSubstr(":root[data-theme=dark]"));
  EXPECT_THAT(page, HasSubstr("color-scheme:light"));
  EXPECT_THAT(page, HasSubstr("id=\"theme\""));
}

TEST(RunReportTest, EveryStyleThatIsUsedHasAColour) {
  const std::string page = RenderHtml(RunDocument(SampleReport(8)));

  for (const std::string_view style : {"compute", "transfer", "memory", "idle", "host",
                                       "launch-overhead", "empty", "heat-0", "heat-7"}) {
    EXPECT_THAT(page, HasSubstr("." + std::string(style) + "{--colour:")) << style;
    // Once in the light theme, and in the dark one twice: chosen and by the system's setting.
    EXPECT_EQ(CountOf("--" + std::string(style) + ":#", page), 3U) << style;
  }
}

TEST(RunReportTest, SectionsComeInOrder) {
  const std::string page = RenderHtml(RunDocument(SampleReport(8)));

  std::size_t last = 0;
  for (const std::string_view id :
       {"findings", "where-the-time-goes", "one-step-over-ranks", "collectives", "critical-path",
        "who-arrives-late", "metrics", "notes"}) {
    const std::size_t at = page.find("<section id=\"" + std::string(id) + "\">");
    ASSERT_NE(at, std::string::npos) << id;
    EXPECT_GT(at, last) << id;
    last = at;
  }
}

TEST(RunReportTest, TextFromOutsideCannotBecomeMarkup) {
  RunReport report = SampleReport(2);
  const std::string evil = "<img onerror='x'>";
  report.title = evil;
  report.facts = {{.label = evil, .value = evil, .is_minor = true}};
  report.figures = {{.label = evil, .value = evil, .note = evil}};
  report.findings = {{.text = evil, .more = evil}};
  report.metrics = {{.name = evil, .meaning = evil, .reason = evil}};
  report.notes = {evil};
  report.roofs = {{evil, 1e9}};
  report.rank_times[0].label = evil;
  report.timeline->step = evil;
  report.timeline->rows[0].label = evil;
  report.collectives[0].kind = evil;
  report.critical_path->hops[0].name = evil;
  report.critical_path->hops[0].path_class = evil;
  report.arrivals->ranks[0] = evil;
  report.arrivals->collectives[0] = evil;
  report.stragglers[0].rank = evil;
  report.stragglers[0].cause = evil;

  EXPECT_THAT(RenderHtml(RunDocument(report)), Not(HasSubstr("<img")));
}

TEST(RunReportTest, AMetricHasItsValueWithTheUnitOrTheReason) {
  const std::string page = RenderHtml(RunDocument(SampleReport(2)));

  EXPECT_THAT(page, HasSubstr("<td class=\"number\">194.76</td><td class=\"short\">GB/s</td>"));
  EXPECT_THAT(page, HasSubstr("n/a: the workload card has no num_params"));
}

TEST(RunReportTest, AThousandRanksMakeASmallPage) {
  const std::string page = RenderHtml(RunDocument(SampleReport(1'024)));

  EXPECT_LT(page.size(), 2'000'000U);
  EXPECT_LT(CountElements(page), 10'000U);
  EXPECT_THAT(page, HasSubstr("Each row stands for 4 ranks"));
}

TEST(RunReportTest, ARunWithoutAnythingSaysSo) {
  const std::string page = RenderHtml(RunDocument({.title = "nothing"}));

  EXPECT_THAT(page, HasSubstr("The run has no device activity."));
  EXPECT_THAT(page, HasSubstr("No collective was matched over several ranks"));
  EXPECT_THAT(page, HasSubstr("No critical path was computed"));
  EXPECT_THAT(page, Not(HasSubstr("nan")));
}

TEST(RunReportTest, TheSameReportGivesTheSameBytes) {
  EXPECT_EQ(RenderHtml(RunDocument(SampleReport(16))), RenderHtml(RunDocument(SampleReport(16))));
}

}  // namespace
}  // namespace orrery::report
