#include "orrery/analyze/link_counters.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/analyze/run_view.h"
#include "orrery/analyze/sample_run_test.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/base/text/table.h"
#include "orrery/trace/trace.h"

namespace orrery::analyze {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct SampleRow {
  std::int64_t time_us = 0;
  const char* direction = "tx";
  std::optional<std::int64_t> link = {};
  std::optional<std::int64_t> kib = {};
  std::int64_t raw = 0;
};

Table RecordingOf(const std::vector<SampleRow>& samples) {
  Table table;
  table.AddColumn("gpu", Table::Type::kInteger);
  table.AddColumn("time_us", Table::Type::kInteger);
  table.AddColumn("direction", Table::Type::kText);
  table.AddColumn("raw", Table::Type::kInteger);
  table.AddColumn("link", Table::Type::kInteger);
  table.AddColumn("kib", Table::Type::kInteger);
  for (const SampleRow& sample : samples) {
    const std::size_t row = table.AddRow();
    table.Set(row, 0, std::int64_t{3});
    table.Set(row, 1, sample.time_us);
    table.Set(row, 2, std::string(sample.direction));
    table.Set(row, 3, sample.raw);
    table.Set(row, 4, sample.link ? Table::Cell(*sample.link) : Table::Cell());
    table.Set(row, 5, sample.kib ? Table::Cell(*sample.kib) : Table::Cell());
  }
  return table;
}

GpuTraffic TrafficOf(const std::vector<SampleRow>& samples, std::optional<std::int64_t> link = {}) {
  const Table rows = RecordingOf(samples);
  return TrafficOfRecording({.format = "NVF1", .file = "gpu3.bin", .rows = &rows}, link);
}

std::vector<double> BytesOf(const LinkSeries& series) {
  std::vector<double> bytes;
  for (const LinkInterval& interval : series.intervals) {
    bytes.push_back(interval.bytes);
  }
  return bytes;
}

// Two links, three rounds 100 µs apart: (4 + 6) KiB, then (1 + 2) KiB. NVML stamps link 1 a little
// later; the round begins with its first stamp.
TEST(LinkCountersTest, LinksOfOnePollingRoundAddUp) {
  const GpuTraffic traffic = TrafficOf({{100, "tx", 0, 10},
                                        {103, "tx", 1, 20},
                                        {200, "tx", 0, 14},
                                        {203, "tx", 1, 26},
                                        {300, "tx", 0, 15},
                                        {303, "tx", 1, 28}});

  EXPECT_EQ(traffic.gpu, 3);
  EXPECT_THAT(BytesOf(traffic.sent), ElementsAre(10 * 1024, 3 * 1024));
  EXPECT_EQ(traffic.sent.intervals[0].time, (Interval{100'000, 200'000}));
  EXPECT_THAT(traffic.sent.intervals[0].BytesPerSecond(), DoubleEq(10 * 1024 / 100e-6));
  EXPECT_THAT(traffic.received.intervals, IsEmpty());
}

TEST(LinkCountersTest, OneLinkCanBeChosen) {
  const std::vector<SampleRow> samples{
      {100, "rx", 0, 10}, {100, "rx", 1, 20}, {200, "rx", 0, 14}, {200, "rx", 1, 26}};

  EXPECT_THAT(BytesOf(TrafficOf(samples, 1).received), ElementsAre(6 * 1024));
  EXPECT_THAT(TrafficOf(samples, 7).received.intervals, IsEmpty());
}

// The GPU's own sum counts everything once; adding its links would count it twice.
TEST(LinkCountersTest, TheSumOverLinksIsPreferredToLinks) {
  const GpuTraffic traffic =
      TrafficOf({{100, "tx", {}, 30}, {100, "tx", 0, 30}, {200, "tx", {}, 40}, {200, "tx", 0, 40}});

  EXPECT_THAT(BytesOf(traffic.sent), ElementsAre(10 * 1024));
}

TEST(LinkCountersTest, RawCountersAreNotUserData) {
  const GpuTraffic traffic = TrafficOf(
      {{100, "tx", {}, 1}, {100, "tx", {}, 1, 1}, {200, "tx", {}, 2}, {200, "tx", {}, 900, 1}});

  EXPECT_THAT(BytesOf(traffic.sent), ElementsAre(1024));
}

// Round 2 has no value: neither the interval that ends there nor the one that begins there can be
// formed. 10 → 11 and 40 → 42 stay.
TEST(LinkCountersTest, AFailedSampleLeavesOutBothIntervalsAtIt) {
  const GpuTraffic traffic = TrafficOf({{100, "tx", {}, 10},
                                        {200, "tx", {}, 11},
                                        {300, "tx", {}, {}},
                                        {400, "tx", {}, 40},
                                        {500, "tx", {}, 42}});

  EXPECT_THAT(BytesOf(traffic.sent), ElementsAre(1024, 2 * 1024));
  EXPECT_EQ(traffic.sent.num_failed, 2);
}

TEST(LinkCountersTest, ACounterThatGoesBackFormsNoInterval) {
  const GpuTraffic traffic =
      TrafficOf({{100, "tx", {}, 50}, {200, "tx", {}, 3}, {300, "tx", {}, 5}, {300, "tx", {}, 5}});

  EXPECT_THAT(BytesOf(traffic.sent), ElementsAre(2 * 1024));
  EXPECT_EQ(traffic.sent.num_resets, 1);
  EXPECT_EQ(traffic.sent.num_timeless, 1);
}

// A link that is not there answers every question with an error; the others count without it.
TEST(LinkCountersTest, ALinkWithoutAnyValueDoesNotCount) {
  const GpuTraffic traffic =
      TrafficOf({{100, "tx", 0, 1}, {100, "tx", 1, {}}, {200, "tx", 0, 3}, {200, "tx", 1, {}}});

  EXPECT_THAT(BytesOf(traffic.sent), ElementsAre(2 * 1024));
  EXPECT_EQ(traffic.sent.num_failed, 0);
}

TEST(LinkCountersTest, ImpossibleTimesAreFailedSamples) {
  const GpuTraffic traffic =
      TrafficOf({{INT64_MIN, "tx", {}, 1}, {INT64_MAX, "tx", {}, 2}, {5, "tx", {}, 3}});

  EXPECT_THAT(traffic.sent.intervals, IsEmpty());
  EXPECT_EQ(traffic.sent.num_failed, 2);
}

// Requests 10 % and responses 20 % of 450 GB/s for 1 µs: 135,000 bytes. Protocol data is no user
// data. The last sample has no end.
TEST(LinkCountersTest, PercentagesOfATraceAreTakenOfThePeak) {
  test_run::Rank rank(0);
  trace::Trace& trace = rank.trace();
  const auto add = [&](std::int64_t time_ns, const char* name, double value) {
    trace.counters.Append(
        {.begin_ns = time_ns, .name = trace.strings.Intern(name), .device = 2, .value = value});
  };
  add(1000, "NVLink TX Requests User Data [Throughput %]", 10);
  add(1000, "NVLink TX Responses User Data [Throughput %]", 20);
  add(1000, "NVLink TX Responses Protocol Data [Throughput %]", 50);
  add(2000, "NVLink TX Requests User Data [Throughput %]", 0);

  const std::vector<GpuTraffic> gpus = TrafficOfTrace(trace, 0, 450e9);

  ASSERT_EQ(gpus.size(), 1U);
  EXPECT_EQ(gpus[0].gpu, 2);
  ASSERT_EQ(gpus[0].sent.intervals.size(), 1U);
  EXPECT_DOUBLE_EQ(gpus[0].sent.intervals[0].bytes, 135'000);
}

// [100, 200) µs carries 10 KiB: 30 µs of it carry 3 KiB.
TEST(LinkCountersTest, AnIntervalThatIsMetInPartCountsInProportion) {
  const LinkSeries sent = TrafficOf({{100, "tx", {}, 0}, {200, "tx", {}, 10}}).sent;

  EXPECT_DOUBLE_EQ(sent.BytesWithin({170'000, 900'000}), 3 * 1024);
  EXPECT_EQ(sent.ObservedWithin({170'000, 900'000}), 30'000);
}

// tx: 10 KiB in 100 µs; rx: 30 KiB in 100 µs, then 1 KiB. Peak and mean are of rx, the larger
// direction: 30 KiB / 100 µs and 31 KiB / 200 µs. Half of both: (11 + 31) / 2 KiB.
TEST(LinkSummaryTest, WithoutADirectionTheLargerOneCounts) {
  const LinkTraffic traffic{.gpus = {TrafficOf({{100, "tx", {}, 0},
                                                {100, "rx", {}, 0},
                                                {200, "tx", {}, 10},
                                                {200, "rx", {}, 30},
                                                {300, "tx", {}, 11},
                                                {300, "rx", {}, 31}})}};

  EXPECT_DOUBLE_EQ(*MaxThroughput(traffic, {}).value, 30 * 1024 / 100e3);
  EXPECT_DOUBLE_EQ(*AverageThroughput(traffic, {}).value, 31 * 1024 / 200e3);
  EXPECT_DOUBLE_EQ(*TotalCommunication(traffic, {}).value, 21 * 1024);
  const AnalyzeOptions sent{.direction = LinkDirection::kSent};
  EXPECT_DOUBLE_EQ(*MaxThroughput(traffic, sent).value, 10 * 1024 / 100e3);
  EXPECT_DOUBLE_EQ(*AverageThroughput(traffic, sent).value, 11 * 1024 / 200e3);
  EXPECT_DOUBLE_EQ(*TotalCommunication(traffic, sent).value, 11 * 1024);
}

// Whatever the number of points, stretches carry all bytes in all observed time.
RC_GTEST_PROP(LinkThroughputTest, FewerPointsCarryTheSameBytes, ()) {
  const auto steps = *rc::gen::nonEmpty<std::vector<std::uint8_t>>();
  const auto max_points = *rc::gen::inRange<std::size_t>(1, 9);
  std::vector<SampleRow> samples{{0, "tx", {}, 0}};
  for (const std::uint8_t kib : steps) {
    samples.push_back({samples.back().time_us + 100, "tx", {}, *samples.back().kib + kib});
  }
  const GpuTraffic traffic = TrafficOf(samples);

  double bytes = 0;
  const std::vector<ThroughputPoint> points = ThroughputOverTime(traffic, max_points);
  for (const ThroughputPoint& point : points) {
    bytes +=
        *point.sent_bytes_per_second * static_cast<double>(point.end_ns - point.begin_ns) / 1e9;
  }

  RC_ASSERT(points.size() <= max_points);
  RC_ASSERT(std::abs(bytes - traffic.sent.total_bytes()) <= 1e-6 * (1 + bytes));
}

}  // namespace
}  // namespace orrery::analyze
