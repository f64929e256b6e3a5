#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/base/string_table.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/registry.h"
#include "orrery/ingest/torch_snapshot/pickle_test.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/problems.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::torch_snapshot {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using trace::MemoryClass;

Result<FileContent> ReadResult(const std::string& bytes) {
  const auto file = InputFile::FromMemory("snapshot.pickle", bytes);
  EXPECT_TRUE(kFormat.matches(*file));
  return kFormat.Read(*file, {});
}

trace::Trace ReadBytes(const std::string& bytes) {
  auto content = ReadResult(bytes);
  EXPECT_TRUE(content) << content.error().message();
  return content ? std::move(content->traces.at(0)) : trace::Trace();
}

std::int64_t CountOf(const trace::Trace& trace, std::string_view what) {
  for (const trace::Problem& problem : trace.problems.all()) {
    if (problem.what.find(what) != std::string::npos) {
      return problem.count;
    }
  }
  return 0;
}

// A segment of 4096 bytes, a tensor of 1000 (a block of 1024) that is freed, and one of 512 that
// stays.
TEST(TorchSnapshotTest, AWholeHistoryGivesSegmentsTensorsAndEvents) {
  const trace::Trace trace = ReadBytes(SnapshotOf(
      {SegmentOf(0x1000, 4096, {BlockOf(0x1000, 1024, 0, "inactive"), BlockOf(0x1400, 512, 500)})},
      {EntryOf("segment_alloc", 0x1000, 4096, 1), EntryOf("alloc", 0x1000, 1000, 2),
       EntryOf("alloc", 0x1400, 500, 3), EntryOf("free_requested", 0x1000, 1000, 5),
       EntryOf("free_completed", 0x1000, 1000, 6)}));

  EXPECT_THAT(trace.problems.all(), IsEmpty());
  EXPECT_THAT(trace.memory_objects.memory_class,
              ElementsAre(MemoryClass::kSegment, MemoryClass::kTensor, MemoryClass::kTensor));
  EXPECT_THAT(trace.memory_objects.begin_ns, ElementsAre(1000, 2000, 3000));
  EXPECT_THAT(trace.memory_objects.duration_ns, ElementsAre(-1, 4000, -1));
  EXPECT_THAT(trace.memory_objects.bytes, ElementsAre(4096, 1024, 512));
  EXPECT_THAT(trace.memory_objects.requested_bytes, ElementsAre(-1, 1000, 500));
  EXPECT_THAT(trace.memory_objects.parent, ElementsAre(kNoRow, 0, 0));
  EXPECT_THAT(trace.memory_objects.birth_order, ElementsAre(0, 1, 2));
  EXPECT_THAT(trace.memory_objects.death_order, ElementsAre(-1, 4, -1));
  EXPECT_THAT(trace.memory_events.bytes, ElementsAre(1024, 512, -1024));
  EXPECT_THAT(trace.memory_events.begin_ns, ElementsAre(2000, 3000, 5000));
  EXPECT_THAT(trace.memory_events.total_allocated_bytes, ElementsAre(1024, 1536, 512));
  EXPECT_THAT(trace.memory_events.total_reserved_bytes, ElementsAre(4096, 4096, 4096));
}

// PASTA defect 5: a history that begins with frees. The ring kept only the free of a tensor of 700
// bytes; the tensor and both segments were there before.
TEST(TorchSnapshotTest, WhatTheRingLostIsWorkedOutBackwards) {
  const trace::Trace trace = ReadBytes(SnapshotOf(
      {SegmentOf(0x1000, 4096, {BlockOf(0x1400, 512, 500)})},
      {EntryOf("free_requested", 0x1000, 700, 5), EntryOf("free_completed", 0x1000, 700, 6),
       EntryOf("segment_free", 0x9000, 8192, 7)}));

  EXPECT_EQ(CountOf(trace, "tensor from before the history"), 2);
  EXPECT_FALSE(trace.problems.has_loss());
  EXPECT_THAT(trace.memory_objects.birth_order, ElementsAre(-1, -1, -1, -1));
  EXPECT_THAT(trace.memory_objects.bytes, ElementsAre(8192, 1024, 4096, 512));
  EXPECT_THAT(trace.memory_objects.duration_ns, ElementsAre(2000, 1000, -1, -1));
  EXPECT_THAT(trace.memory_events.bytes, ElementsAre(-1024));
  EXPECT_THAT(trace.memory_events.total_allocated_bytes, ElementsAre(512));
  EXPECT_THAT(trace.memory_events.total_reserved_bytes, ElementsAre(12288));
}

TEST(TorchSnapshotTest, AFreeThatStreamsHoldUpEndsNoLife) {
  const trace::Trace trace = ReadBytes(
      SnapshotOf({SegmentOf(0x1000, 4096, {BlockOf(0x1000, 512, 8, "active_pending_free")})},
                 {EntryOf("alloc", 0x1000, 8, 1), EntryOf("free_requested", 0x1000, 8, 2)}));

  EXPECT_FALSE(trace.problems.has_loss());
  EXPECT_THAT(trace.memory_events.total_allocated_bytes, ElementsAre(512, 0));
  EXPECT_THAT(trace.memory_objects.duration_ns, ElementsAre(-1, -1));
}

// Pages 0..3 are mapped, then page 1 is taken away: what remains lives on in two pieces.
TEST(TorchSnapshotTest, ExpandableSegmentsGrowAndShrink) {
  const trace::Trace trace = ReadBytes(SnapshotOf(
      {SegmentOf(0x0000, 0x1000, {}), SegmentOf(0x2000, 0x2000, {})},
      {EntryOf("segment_map", 0x0000, 0x3000, 1), EntryOf("segment_map", 0x3000, 0x1000, 2),
       EntryOf("segment_unmap", 0x1000, 0x1000, 3), EntryOf("snapshot", 0, 0, 4)}));

  EXPECT_FALSE(trace.problems.has_loss());
  EXPECT_THAT(trace.memory_objects.address, ElementsAre(0x0000, 0x3000, 0x0000, 0x2000));
  EXPECT_THAT(trace.memory_objects.bytes, ElementsAre(0x3000, 0x1000, 0x1000, 0x1000));
  EXPECT_THAT(trace.memory_objects.duration_ns, ElementsAre(2000, -1, -1, -1));
  EXPECT_THAT(trace.instants.begin_ns, ElementsAre(4000));
}

// Microseconds of November 2023 and of the year 9999, which is no time of ours.
TEST(TorchSnapshotTest, TimesAreThoseOfToday) {
  const trace::Trace trace =
      ReadBytes(SnapshotOf({SegmentOf(0, 4096, {BlockOf(0, 512, 8), BlockOf(512, 512, 8)})},
                           {EntryOf("alloc", 0, 8, 1'700'000'000'000'000),
                            EntryOf("alloc", 512, 8, 253'402'300'799'000'000)}));

  EXPECT_EQ(trace.memory_events.begin_ns.at(0), 1'700'000'000'000'000'000);
  EXPECT_LE(trace.memory_events.begin_ns.at(1), std::int64_t{1} << 61);
}

TEST(TorchSnapshotTest, WithoutAHistoryTheFinalStateIsAll) {
  const trace::Trace trace =
      ReadBytes(SnapshotOf({SegmentOf(0x1000, 4096, {BlockOf(0x1000, 512, 500)})}, {}));

  EXPECT_EQ(CountOf(trace, "snapshot without a history"), 1);
  EXPECT_EQ(trace.memory_objects.size(), 2U);
  EXPECT_TRUE(trace.memory_events.empty());
}

// Old snapshots: blocks fill their segment one after the other.
TEST(TorchSnapshotTest, BlocksWithoutAddressesFollowEachOther) {
  const auto block = [](std::int64_t bytes) {
    return Dictionary({{"size", Number(bytes)}, {"state", Text("active_allocated")}});
  };
  const trace::Trace trace =
      ReadBytes(SnapshotOf({SegmentOf(0x1000, 4096, {block(512), block(1024)})}, {}));

  EXPECT_THAT(trace.memory_objects.address, ElementsAre(0x1000, 0x1000, 0x1200));
}

TEST(TorchSnapshotTest, HistoryAndFinalStateThatDisagreeAreALoss) {
  const trace::Trace trace = ReadBytes(
      SnapshotOf({SegmentOf(0x1000, 4096, {})},
                 {EntryOf("alloc", 0x1000, 512, 1), EntryOf("free_requested", 0x2000, 8, 2)}));

  EXPECT_EQ(CountOf(trace, "contradicts"), 3);  // both backwards, the free also forwards
  EXPECT_EQ(CountOf(trace, "disagree"), 1);     // 0x1000 is alive and should not be
}

// PyTorch's own snapshot of an allocation that failed: frames of C++ have the line 2^64 - 1.
TEST(TorchSnapshotTest, AFrameMayHaveNoLine) {
  const std::string unknown_line = std::string("\x8a\x09") + std::string(8, '\xff') + '\0';
  const std::string frames = List(
      {Dictionary({{"name", Text("at::empty")}, {"filename", Text("??")}, {"line", unknown_line}}),
       Dictionary({{"name", Text("main")}, {"filename", Text("t.py")}, {"line", Number(1)}})});
  const std::string entry = Dictionary({{"action", Text("alloc")},
                                        {"addr", Number(64)},
                                        {"size", Number(8)},
                                        {"time_us", Number(1)},
                                        {"frames", frames}});
  const trace::Trace trace = ReadBytes(SnapshotOf({SegmentOf(0, 512, {BlockOf(64, 512, 8)})},
                                                  {entry, Dictionary({{"action", Text("oom")},
                                                                      {"device_free", Number(77)},
                                                                      {"size", Number(99)},
                                                                      {"time_us", Number(3)},
                                                                      {"frames", frames}})}));

  std::vector<std::string_view> stacks;
  for (const StringId stack : trace.memory_objects.call_stack) {
    stacks.push_back(trace.Text(stack));
  }
  EXPECT_THAT(stacks, Contains("at::empty ??\nmain t.py:1"));
}

TEST(TorchSnapshotTest, StacksNamesAnnotationsAndSettingsAreKept) {
  const std::string frames = List(
      {Dictionary({{"name", Text("forward")}, {"filename", Text("m.py")}, {"line", Number(7)}}),
       Dictionary({{"name", Text("main")}, {"filename", Text("t.py")}, {"line", Number(1)}})});
  const std::string entry = Dictionary({{"action", Text("alloc")},
                                        {"addr", Number(64)},
                                        {"size", Number(8)},
                                        {"time_us", Number(1)},
                                        {"frames", frames},
                                        {"user_metadata", Text("layer 3")}});
  const std::string oom = Dictionary({{"action", Text("oom")},
                                      {"device_free", Number(77)},
                                      {"size", Number(99)},
                                      {"time_us", Number(3)}});
  const auto mark = [](std::string_view stage, std::int64_t time_us) {
    return Dictionary({{"stage", Text(stage)},
                       {"name", Text("step")},
                       {"device", Number(0)},
                       {"time_us", Number(time_us)}});
  };
  const trace::Trace trace = ReadBytes(PickleOf(Dictionary(
      {{"segments", List({SegmentOf(0, 512, {BlockOf(64, 512, 8)})})},
       {"device_traces", List({List({}), List({}), List({entry, oom})})},
       {"allocator_settings", Dictionary({{"expandable_segments", "\x88"}})},
       {"external_annotations", List({mark("START", 1), mark("END", 5), mark("END", 6)})}})));

  ASSERT_EQ(trace.memory_objects.size(), 3U);  // those of device 0, and a tensor of device 2
  EXPECT_EQ(trace.memory_objects.device[2], 2);
  EXPECT_EQ(trace.Text(trace.memory_objects.call_stack[2]), "forward m.py:7\nmain t.py:1");
  EXPECT_EQ(trace.Text(trace.memory_objects.name[2]), "layer 3");
  EXPECT_EQ(trace.Text(trace.instants.extra.at(0)), R"("bytes":99,"device":2,"free_bytes":77)");
  EXPECT_THAT(trace.annotations.duration_ns, ElementsAre(4000));
  EXPECT_EQ(CountOf(trace, "ends without a begin"), 1);
  EXPECT_EQ(trace.Text(trace.metadata.key.at(0)), "allocator expandable_segments");
  EXPECT_EQ(trace.Text(trace.metadata.value[0]), "true");
}

// PASTA defect 8: objects of 5 GiB keep their size.
TEST(TorchSnapshotTest, SizesAreWide) {
  const std::int64_t bytes = std::int64_t{5} << 30;
  const trace::Trace trace =
      ReadBytes(SnapshotOf({SegmentOf(0, bytes, {BlockOf(0, bytes, bytes)})}, {}));

  EXPECT_THAT(trace.memory_objects.bytes, ElementsAre(bytes, bytes));
}

TEST(TorchSnapshotTest, UnusableValuesAreCounted) {
  const trace::Trace trace = ReadBytes(
      SnapshotOf({SegmentOf(0x1000, -5, {}), Number(3), SegmentOf(0, 512, {BlockOf(-4, 8, 8)})},
                 {EntryOf("invented", 1, 1, 1), EntryOf("alloc", -1, 1, 1), Text("x")}));

  EXPECT_EQ(CountOf(trace, "segment without"), 2);
  EXPECT_EQ(CountOf(trace, "block without"), 1);
  EXPECT_EQ(CountOf(trace, "unknown action"), 2);
  EXPECT_EQ(CountOf(trace, "history entry without a usable"), 1);
}

TEST(TorchSnapshotTest, OtherPicklesAreNamed) {
  const auto content = ReadResult(PickleOf(Dictionary({{"weights", Number(1)}})));

  ASSERT_FALSE(content);
  EXPECT_EQ(content.error().kind(), Error::Kind::kUnsupported);
  EXPECT_THAT(content.error().message(), HasSubstr("snapshot.pickle: this is a pickle of Python"));
}

// An allocator that gives out blocks of a segment at random, and what it really held.
struct Truth {
  std::vector<std::string> entries;
  std::vector<std::int64_t> allocated_after;  // of entries that change it, in order
  std::vector<bool> changes;
  std::map<std::int64_t, std::int64_t> bytes_at;
  std::int64_t allocated = 0;
};

Truth RandomHistory() {
  Truth truth;
  const int num_steps = *rc::gen::inRange(1, 60);
  const auto add = [&](std::string entry, std::int64_t change) {
    truth.entries.push_back(std::move(entry));
    truth.allocated += change;
    truth.changes.push_back(change != 0);
    truth.allocated_after.push_back(truth.allocated);
  };
  for (int step = 0; step < num_steps; ++step) {
    const std::int64_t address = 0x10000 + 4096 * *rc::gen::inRange<std::int64_t>(0, 6);
    if (const auto held = truth.bytes_at.find(address); held != truth.bytes_at.end()) {
      add(EntryOf("free_requested", address, held->second, step), -held->second);
      add(EntryOf("free_completed", address, held->second, step), 0);
      truth.bytes_at.erase(held);
    } else {
      const std::int64_t bytes = 512 * *rc::gen::inRange<std::int64_t>(1, 8);
      truth.bytes_at[address] = bytes;
      add(EntryOf("alloc", address, bytes, step), bytes);
    }
  }
  return truth;
}

// However many of the oldest entries the ring lost, totals after them and the final state are
// those of the allocator.
RC_GTEST_PROP(TorchSnapshotProperty, BackwardsAndForwardsIsUnchanged, ()) {
  const Truth truth = RandomHistory();
  const auto lost = *rc::gen::inRange<std::size_t>(0, truth.entries.size() + 1);
  std::vector<std::string> blocks;
  for (const auto& [address, bytes] : truth.bytes_at) {
    blocks.push_back(BlockOf(address, bytes, bytes));
  }
  const auto first = truth.entries.begin() + static_cast<std::ptrdiff_t>(lost);
  const trace::Trace trace =
      ReadBytes(SnapshotOf({SegmentOf(0x10000, 0x10000, blocks)}, {first, truth.entries.end()}));

  std::vector<std::int64_t> expected;
  for (std::size_t i = lost; i < truth.entries.size(); ++i) {
    if (truth.changes[i]) {
      expected.push_back(truth.allocated_after[i]);
    }
  }
  RC_ASSERT(trace.memory_events.total_allocated_bytes == expected);
  RC_ASSERT(!trace.problems.has_loss());
}

}  // namespace
}  // namespace orrery::ingest::torch_snapshot
