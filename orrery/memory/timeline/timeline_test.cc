#include "orrery/memory/timeline/timeline.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/memory/timeline/attribution.h"
#include "orrery/memory/timeline/comparison.h"
#include "orrery/memory/timeline/history.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::memory::timeline {
namespace {

using testing::ElementsAre;
using trace::MemoryClass;

/// Builds traces whose operators follow each other on one thread.
class TestTrace {
 public:
  TestTrace() { trace.tracks.Append({.process = 1, .thread = 1}); }

  trace::Trace trace;

  RowId Operator(std::string_view name, std::int64_t begin_ns, std::int64_t end_ns,
                 RowId parent = kNoRow) {
    return trace.host_ops.Append({.begin_ns = begin_ns,
                                  .duration_ns = end_ns - begin_ns,
                                  .name = trace.strings.Intern(name),
                                  .track = 0,
                                  .parent = parent});
  }

  /// An event of the allocator as profilers write it.
  void Event(std::int64_t time_ns, std::int64_t bytes, std::uint64_t address,
             std::int64_t total_bytes = -1, std::int64_t reserved_bytes = -1) {
    trace.memory_events.Append({.begin_ns = time_ns,
                                .bytes = bytes,
                                .address = address,
                                .device_kind = trace::DeviceKind::kGpu,
                                .device = 0,
                                .total_allocated_bytes = total_bytes,
                                .total_reserved_bytes = reserved_bytes,
                                .track = 0,
                                .name = trace.strings.Intern("[memory]")});
  }

  /// A change of a category as predictions write it.
  void Named(std::int64_t time_ns, std::int64_t bytes, std::string_view name) {
    Event(time_ns, bytes, 0);
    trace.memory_events.name.back() = trace.strings.Intern(name);
  }

  RowId Object(std::int64_t begin_ns, std::int64_t end_ns, std::int64_t bytes,
               MemoryClass memory_class = MemoryClass::kTensor, RowId host_op = kNoRow) {
    return trace.memory_objects.Append(
        {.begin_ns = begin_ns,
         .duration_ns = end_ns < 0 ? -1 : end_ns - begin_ns,
         .bytes = bytes,
         .memory_class = memory_class,
         .device = 0,
         .birth_order = static_cast<std::int64_t>(trace.memory_objects.size()) + 1,
         .host_op = host_op});
  }

  [[nodiscard]] Timeline First(const TimelineOptions& options = {}) const {
    return TimelinesOf(trace, HistoryOf(trace), options).at(0);
  }
};

std::vector<std::int64_t> Curve(const Timeline& timeline, Layer layer) {
  std::vector<std::int64_t> bytes;
  for (const Point& point : timeline.points) {
    bytes.push_back(point.Of(layer));
  }
  return bytes;
}

// 1,000 bytes are there when the first event comes; its total says so. The free at 0x9 is of those.
TEST(TimelineTest, TheAllocatorsTotalSaysWhatWasThereBefore) {
  TestTrace test;
  test.Operator("aten::mm", 0, 100);
  test.Event(10, 64, 0x1, 1064, 4096);
  test.Event(20, 36, 0x2, 1100, 4096);
  test.Event(30, -200, 0x9, 900, 4096);
  test.Event(40, -64, 0x1, 836, 4096);

  const MemoryHistory history = HistoryOf(test.trace);
  const Timeline timeline = test.First();

  EXPECT_EQ(timeline.peak.bytes, 1100);
  EXPECT_EQ(timeline.peak.time_ns, 20);
  EXPECT_EQ(timeline.peak.bytes_without_owner, 1000);
  EXPECT_EQ(timeline.points.back().Of(Layer::kAllocated), 836);
  EXPECT_EQ(timeline.HighestOf(Layer::kReserved), 4096);
  EXPECT_EQ(history.num_unknown_frees, 1);
  EXPECT_EQ(history.largest_difference, 0);
  ASSERT_EQ(timeline.peak.owners.size(), 2U);
  EXPECT_EQ(timeline.peak.owners[0].site, "aten::mm");
}

TEST(TimelineTest, EventsThatAreMissingShowInTheTotals) {
  TestTrace test;
  test.Event(10, 64, 0x1, 64);
  test.Event(20, 36, 0x2, 500);

  EXPECT_EQ(HistoryOf(test.trace).largest_difference, 400);
}

// Before the first event 200 bytes are there (300 - 100). The free leaves 100, so 500 were there
// before it: the events of 200 more are missing, and the sum of events alone would be -100.
TEST(TimelineTest, MissingEventsCannotMakeMemoryNegative) {
  TestTrace test;
  test.Event(10, 100, 0x1, 300);
  test.Event(20, -400, 0x9, 100);

  EXPECT_THAT(Curve(test.First(), Layer::kAllocated), ElementsAre(200, 300, 500, 100));
  EXPECT_EQ(HistoryOf(test.trace).largest_difference, 200);
}

// Of the 400 bytes that are freed only 100 were allocated: at least 300 were there before.
TEST(TimelineTest, FreesOfUnknownMemorySayWhatWasThereBefore) {
  TestTrace test;
  test.Event(10, 100, 0x1);
  test.Event(20, -400, 0x9);

  EXPECT_THAT(Curve(test.First(), Layer::kAllocated), ElementsAre(300, 400, 0));
}

// Only the second of four events has a total. Before it 300 - 100 = 200 are in use, so before the
// free of 400 it was 600, from the beginning. The free of 500 leaves 300 - 500 = -200: 200 were
// allocated unseen after the total, which is all that is assumed.
TEST(TimelineTest, EventsWithoutTotalsCannotMakeMemoryNegativeWhereSomeHaveThem) {
  TestTrace test;
  test.Event(10, -400, 0x9);
  test.Event(20, 100, 0x1, 300);
  test.Event(30, -500, 0x8);
  test.Event(40, 50, 0x2);

  const Timeline timeline = test.First();
  EXPECT_THAT(Curve(timeline, Layer::kAllocated), ElementsAre(600, 200, 300, 500, 0, 50));
  EXPECT_EQ(timeline.points.front().time_ns, 10);
  EXPECT_EQ(timeline.peak.bytes, 600);
  EXPECT_EQ(HistoryOf(test.trace).assumed_bytes, 200);
  EXPECT_EQ(HistoryOf(test.trace).largest_difference, 0);
}

// The total of the second event says that 150 - 100 = 50 are there before it, not 200: a free of
// 150 is missing.
TEST(TimelineTest, ALowerFirstTotalIsAMissingFree) {
  TestTrace test;
  test.Event(10, 200, 0x1);
  test.Event(20, 100, 0x2, 150);

  EXPECT_THAT(Curve(test.First(), Layer::kAllocated), ElementsAre(200, 50, 150));
  EXPECT_EQ(HistoryOf(test.trace).largest_difference, 150);
  EXPECT_EQ(HistoryOf(test.trace).assumed_bytes, 0);
}

RC_GTEST_PROP(TimelineTest, NoLayerIsEverNegative, ()) {
  TestTrace test;
  const auto num_events = *rc::gen::inRange(1, 30);
  for (int i = 0; i < num_events; ++i) {
    const auto total = *rc::gen::inRange(-500, 500);
    test.Event(i, *rc::gen::inRange(-300, 300), *rc::gen::inRange(0U, 5U), std::max(total, -1),
               std::max(total - 100, -1));
    if (*rc::gen::inRange(0, 4) == 0) {
      test.trace.memory_events.name.back() = test.trace.strings.Intern("CUDA context");
    }
  }

  for (const Timeline& timeline : TimelinesOf(test.trace, HistoryOf(test.trace))) {
    for (const Point& point : timeline.points) {
      RC_ASSERT(std::ranges::all_of(point.bytes, [](std::int64_t bytes) { return bytes >= 0; }));
    }
  }
}

// An object that is freed in the nanosecond of its birth; its number of events is not known.
TEST(TimelineTest, AnObjectIsNotFreedBeforeItIsAllocated) {
  TestTrace test;
  const RowId object = test.Object(5, 5, 100);
  for (const std::int64_t order : {-1, 1}) {
    test.trace.memory_objects.birth_order[object] = order;
    EXPECT_THAT(Curve(test.First(), Layer::kAllocated), ElementsAre(100, 0));
  }
}

// A prediction: a context beside the allocator, weights, activations that come and go.
TEST(TimelineTest, NamedChangesAreCategoriesAndContextsAreOutside) {
  TestTrace test;
  test.Named(0, 700, "CUDA context");
  test.Named(0, 100, "parameters");
  test.Named(5, 40, "activations");
  test.Named(9, -40, "activations");

  const Timeline timeline = test.First();

  EXPECT_EQ(timeline.peak.bytes, 140);
  EXPECT_EQ(timeline.HighestOf(Layer::kOutside), 700);
  EXPECT_THAT(timeline.peak.by_category,
              ElementsAre(NamedBytes{"parameters", 100, 0}, NamedBytes{"activations", 40, 0}));
}

// The driver gives 1,024 bytes that become a segment, and 256 to somebody else.
TEST(TimelineTest, LayersAreNotCountedTwice) {
  TestTrace test;
  const RowId pool = test.Object(0, -1, 1024, MemoryClass::kDevice);
  const RowId segment = test.Object(1, -1, 1024, MemoryClass::kSegment);
  test.trace.memory_objects.parent[segment] = pool;
  const RowId tensor = test.Object(2, 6, 100);
  test.trace.memory_objects.parent[tensor] = segment;
  test.Object(3, -1, 256, MemoryClass::kDevice);

  const Timeline timeline = test.First();

  EXPECT_THAT(Curve(timeline, Layer::kAllocated), ElementsAre(0, 100, 100, 0));
  EXPECT_THAT(Curve(timeline, Layer::kReserved), ElementsAre(1024, 1024, 1024, 1024));
  EXPECT_THAT(Curve(timeline, Layer::kOutside), ElementsAre(0, 0, 256, 256));
  EXPECT_FALSE(timeline.Has(Layer::kDriver));
}

// Blocks of 1,024 and 512 bytes: the program asked for 1,000 in the first, and the recording does
// not say for the second: 1,000 + 512.
TEST(TimelineTest, ThePeakSaysWhatTheProgramAskedFor) {
  TestTrace test;
  test.Object(0, 100, 1'024);
  test.Object(10, 50, 512);
  EXPECT_EQ(TimelinesOf(test.trace, HistoryOf(test.trace)).at(0).peak.requested_bytes, -1);

  test.trace.memory_objects.requested_bytes[0] = 1'000;
  const Timeline timeline = TimelinesOf(test.trace, HistoryOf(test.trace)).at(0);
  EXPECT_EQ(timeline.peak.bytes, 1'536);
  EXPECT_EQ(timeline.peak.requested_bytes, 1'512);
}

// Importers of drivers' allocations know no framework.
TEST(TimelineTest, WithoutAnAllocatorTheDriverIsWhatCounts) {
  TestTrace test;
  test.Object(0, 5, 300, MemoryClass::kDevice);
  test.Object(3, -1, 200, MemoryClass::kDevice);

  const Timeline timeline = test.First();

  EXPECT_EQ(timeline.main_layer, Layer::kDriver);
  EXPECT_EQ(timeline.peak.bytes, 500);
}

// The step of memory_streams.cc in short: forward from 0, backward from 100, optimizer from 200.
TEST(CategoryTest, CategoriesFollowFromWhatAllocatesAndWhatFrees) {
  TestTrace test;
  const RowId forward = test.Operator("aten::linear", 0, 50);
  const RowId inner = test.Operator("aten::addmm", 10, 40, forward);
  const RowId backward =
      test.Operator("autograd::engine::evaluate_function: AddmmBackward0", 100, 150);
  const RowId more = test.Operator("autograd::engine::evaluate_function: ReluBackward0", 160, 190);
  const RowId optimizer = test.Operator("Optimizer.step#Adam.step", 200, 250);
  test.Object(5, 30, 1, MemoryClass::kTensor, inner);
  test.Object(6, 120, 1, MemoryClass::kTensor, inner);
  test.Object(110, 170, 1, MemoryClass::kTensor, backward);
  test.Object(165, 300, 1, MemoryClass::kTensor, more);
  test.Object(210, 230, 1, MemoryClass::kTensor, optimizer);
  test.Object(220, -1, 1, MemoryClass::kTensor, optimizer);
  test.Object(260, -1, 1);

  const MemoryHistory history = HistoryOf(test.trace);
  const Categories categories(test.trace, history);
  std::vector<std::string> names;
  for (std::uint32_t life = 0; life < history.lives.size(); ++life) {
    names.emplace_back(categories.OfLife(life));
  }

  EXPECT_THAT(names, ElementsAre("temporary", "activation", "temporary", "gradient", "temporary",
                                 "optimizer state", "unknown"));
}

TEST(CategoryTest, EventsWithoutAddressesAreUnknownAndNotFromBefore) {
  TestTrace test;
  test.Event(10, 64, 0);
  test.Event(20, -64, 0);

  EXPECT_THAT(test.First().peak.by_category, ElementsAre(NamedBytes{"unknown", 64, 0}));
}

TEST(TimelineTest, AnEmptyTraceHasNoTimelines) {
  const trace::Trace trace;

  EXPECT_TRUE(TimelinesOf(trace, HistoryOf(trace)).empty());
}

// Owners, sites and categories each add up to the peak, and no point is above it.
RC_GTEST_PROP(TimelineTest, WhoHoldsThePeakAddsUpToIt, ()) {
  TestTrace test;
  std::int64_t begin_ns = 0;
  const auto num_objects = *rc::gen::inRange(1, 40);
  for (int i = 0; i < num_objects; ++i) {
    begin_ns += *rc::gen::inRange(0, 10);
    const auto lasts_ns = *rc::gen::inRange(-1, 50);
    test.Object(begin_ns, lasts_ns < 1 ? -1 : begin_ns + lasts_ns, *rc::gen::inRange(1, 1000));
  }
  const MemoryHistory history = HistoryOf(test.trace);

  const Timeline timeline = TimelinesOf(test.trace, history).at(0);

  std::int64_t of_owners = timeline.peak.bytes_without_owner;
  for (const Owner& owner : timeline.peak.owners) {
    of_owners += history.lives[owner.life].bytes;
  }
  const auto sum = [](const std::vector<NamedBytes>& list) {
    return std::accumulate(
        list.begin(), list.end(), std::int64_t{0},
        [](std::int64_t bytes, const NamedBytes& named) { return bytes + named.bytes; });
  };
  RC_ASSERT(of_owners == timeline.peak.bytes);
  RC_ASSERT(sum(timeline.peak.by_site) == timeline.peak.bytes);
  RC_ASSERT(sum(timeline.peak.by_category) == timeline.peak.bytes);
  RC_ASSERT(timeline.HighestOf(timeline.main_layer) == timeline.peak.bytes);
  for (std::size_t column = 0; column < timeline.columns.points.size(); ++column) {
    const std::vector<std::int64_t>& bytes = timeline.columns.bytes.at(column);
    RC_ASSERT(std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0}) ==
              timeline.points[timeline.columns.points[column]].Of(timeline.main_layer));
  }
}

// Ranks 0 and 1 do the same at other times; rank 2 takes 20 % more.
TEST(RankSpreadTest, RanksThatDifferAreNamedWithTheirGroups) {
  std::vector<TestTrace> tests(3);
  std::vector<const trace::Trace*> ranks;
  std::vector<Timeline> timelines;
  for (std::int32_t rank = 0; rank < 3; ++rank) {
    TestTrace& test = tests[static_cast<std::size_t>(rank)];
    test.Object(std::int64_t{10} * rank, -1, rank == 2 ? 120 : 100);
    for (const auto& [kind, list] :
         {std::pair("data", "[0, 1]"), std::pair("pipeline", "[0, 2]")}) {
      test.trace.process_groups.Append({.description = test.trace.strings.Intern(kind),
                                        .ranks = test.trace.strings.Intern(list)});
    }
    ranks.push_back(&test.trace);
    timelines.push_back(test.First({.rank = rank}));
  }

  const RankSpread spread = SpreadOf(ranks, timelines);

  EXPECT_THAT(spread.alike, ElementsAre(ElementsAre(0, 1), ElementsAre(2)));
  EXPECT_EQ(spread.largest_rank, 2);
  EXPECT_DOUBLE_EQ(spread.Percent(), 20);
  ASSERT_EQ(spread.groups.size(), 2U);
  EXPECT_EQ(spread.groups[0].kind, "data");
  EXPECT_DOUBLE_EQ(spread.groups[0].largest_percent, 0);
  EXPECT_DOUBLE_EQ(spread.groups[1].largest_percent, 20);
}

// The second recording is twice as slow and has an allocation more. By progress and by operator
// the same moments meet; by number of the change the second is one behind.
TEST(AlignmentTest, MomentsThatBelongTogetherMeet) {
  std::vector<TestTrace> tests(2);
  for (const std::int64_t slow : {1, 2}) {
    TestTrace& test = tests[static_cast<std::size_t>(slow - 1)];
    test.Operator("a", 0, 40 * slow);
    test.Operator("b", 50 * slow, 90 * slow);
    test.trace.steps.Append({.begin_ns = 0, .duration_ns = 100 * slow});
    if (slow == 2) {
      test.Object(1, 2, 5);
    }
    test.Object(10 * slow, -1, 100);
    test.Object(60 * slow, -1, 50);
  }
  const Timeline first = tests[0].First();
  const Timeline second = tests[1].First();
  const AlignedSide sides[] = {{&tests[0].trace, &first}, {&tests[1].trace, &second}};

  for (const AlignBy by : {AlignBy::kProgress, AlignBy::kOperator}) {
    const Result<Alignment> aligned = Align(sides[0], sides[1], by, 2);
    ASSERT_TRUE(aligned.has_value());
    ASSERT_EQ(aligned->moments.size(), 2U);
    EXPECT_EQ(aligned->moments[0].first_bytes, 100);
    EXPECT_EQ(aligned->moments[1].first_bytes, 150);
    EXPECT_EQ(aligned->Furthest().Difference(), 0);
  }
  const Result<Alignment> raw = Align(sides[0], sides[1], AlignBy::kEvent);
  ASSERT_TRUE(raw.has_value());
  EXPECT_EQ(raw->moments[0].Difference(), 5 - 100);
  EXPECT_EQ(raw->num_only_second, 2U);
}

TEST(AlignmentTest, WithoutOperatorsThereIsNothingToAlignBy) {
  TestTrace test;
  test.Object(0, -1, 1);
  const Timeline timeline = test.First();

  const Result<Alignment> aligned =
      Align({&test.trace, &timeline}, {&test.trace, &timeline}, AlignBy::kOperator);

  ASSERT_FALSE(aligned.has_value());
}

}  // namespace
}  // namespace orrery::memory::timeline
