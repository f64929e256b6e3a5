#include "orrery/export/torch_snapshot/torch_snapshot.h"

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/base/file/byte_sink.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::exporting {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using trace::MemoryClass;

std::vector<std::pair<SnapshotAction, RowId>> ActionsOf(const SnapshotDevice& device) {
  std::vector<std::pair<SnapshotAction, RowId>> actions;
  for (const SnapshotStep& step : device.history) {
    actions.emplace_back(step.action, step.object);
  }
  return actions;
}

std::pair<SnapshotAction, RowId> Did(SnapshotAction action, RowId object) {
  return {action, object};
}

// A segment of 8 KiB with a weight from before the recording (row 1) and, one after the other at
// the same address, two temporaries: the second is born in the moment that the first ends.
TEST(SnapshotPlanTest, LivesBecomeAHistoryAndAFinalState) {
  trace::Trace trace;
  trace.memory_objects.Append(
      {.address = 0x1000, .bytes = 8192, .memory_class = MemoryClass::kSegment, .device = 0});
  trace.memory_objects.Append({.address = 0x1000,
                               .bytes = 512,
                               .memory_class = MemoryClass::kTensor,
                               .device = 0,
                               .parent = 0});
  trace.memory_objects.Append({.duration_ns = 5,
                               .address = 0x1800,
                               .bytes = 512,
                               .memory_class = MemoryClass::kTensor,
                               .device = 0,
                               .birth_order = 1,
                               .death_order = 4,
                               .parent = 0});
  trace.memory_objects.Append({.address = 0x1800,
                               .bytes = 1024,
                               .memory_class = MemoryClass::kTensor,
                               .device = 0,
                               .birth_order = 4,
                               .parent = 0});

  const SnapshotPlan plan = PlanSnapshot(trace);

  ASSERT_EQ(plan.devices.size(), 1U);
  EXPECT_THAT(ActionsOf(plan.devices[0]),
              ElementsAre(Did(SnapshotAction::kAlloc, 2), Did(SnapshotAction::kFree, 2),
                          Did(SnapshotAction::kAlloc, 3)));
  ASSERT_EQ(plan.devices[0].segments.size(), 1U);
  EXPECT_EQ(plan.devices[0].segments[0].object, 0U);
  EXPECT_THAT(plan.devices[0].segments[0].tensors, ElementsAre(1, 3));
  EXPECT_EQ(plan.num_outside + plan.num_misplaced, 0);
}

TEST(SnapshotPlanTest, MemoryOfTheDriverThatTensorsLieInIsASegment) {
  trace::Trace trace;
  trace.memory_objects.Append(
      {.address = 0x1000, .bytes = 4096, .memory_class = MemoryClass::kDevice, .birth_order = 0});
  trace.memory_objects.Append({.address = 0x1000,
                               .bytes = 512,
                               .memory_class = MemoryClass::kTensor,
                               .birth_order = 1,
                               .parent = 0});
  trace.memory_objects.Append(
      {.address = 0x9000, .bytes = 4096, .memory_class = MemoryClass::kDevice, .birth_order = 2});
  trace.memory_objects.Append(
      {.address = 0x9000, .bytes = 4096, .memory_class = MemoryClass::kPinned, .birth_order = 3});

  const SnapshotPlan plan = PlanSnapshot(trace);

  EXPECT_THAT(ActionsOf(plan.devices.at(0)),
              ElementsAre(Did(SnapshotAction::kSegmentAlloc, 0), Did(SnapshotAction::kAlloc, 1)));
  EXPECT_EQ(plan.num_outside, 2);
}

TEST(SnapshotPlanTest, ATensorInNothingHasASegmentOfItsOwn) {
  trace::Trace trace;
  trace.memory_objects.Append({.duration_ns = 9,
                               .address = 0x1000,
                               .bytes = 512,
                               .memory_class = MemoryClass::kTensor,
                               .device = 1,
                               .birth_order = 3,
                               .death_order = 8});

  const SnapshotPlan plan = PlanSnapshot(trace);

  ASSERT_EQ(plan.devices.size(), 2U);
  EXPECT_THAT(plan.devices[0].history, IsEmpty());
  EXPECT_THAT(ActionsOf(plan.devices[1]),
              ElementsAre(Did(SnapshotAction::kSegmentAlloc, 0), Did(SnapshotAction::kAlloc, 0),
                          Did(SnapshotAction::kFree, 0), Did(SnapshotAction::kSegmentFree, 0)));
  EXPECT_THAT(plan.devices[1].segments, IsEmpty());
}

// Of two tensors at the end that overlap the first is kept; so is none that leaves its segment.
TEST(SnapshotPlanTest, BlocksOfTheFinalStateDoNotOverlap) {
  trace::Trace trace;
  trace.memory_objects.Append(
      {.address = 0x1000, .bytes = 4096, .memory_class = MemoryClass::kSegment});
  for (const std::uint64_t address : {0x1000U, 0x1100U, 0x1F00U}) {
    trace.memory_objects.Append(
        {.address = address, .bytes = 512, .memory_class = MemoryClass::kTensor, .parent = 0});
  }

  const SnapshotPlan plan = PlanSnapshot(trace);

  EXPECT_THAT(plan.devices.at(0).segments.at(0).tensors, ElementsAre(1));
  EXPECT_EQ(plan.num_misplaced, 2);
}

TEST(SnapshotFramesTest, LinesAreTakenApart) {
  EXPECT_EQ(FrameOf("forward model.py:12"),
            (Frame{.name = "forward", .file = "model.py", .line = 12}));
  EXPECT_EQ(FrameOf("at::add(Tensor const&) /src/add.cpp:7"),
            (Frame{.name = "at::add(Tensor const&)", .file = "/src/add.cpp", .line = 7}));
  EXPECT_EQ(FrameOf("train.py:7"), (Frame{.file = "train.py", .line = 7}));
  EXPECT_EQ(FrameOf("at::add"), (Frame{.name = "at::add"}));
  EXPECT_EQ(FrameOf("main"), (Frame{.name = "main"}));
}

TEST(TorchSnapshotTest, ATraceWithoutTensorsIsRefused) {
  MemorySink sink;
  trace::Trace trace;
  trace.memory_objects.Append({.bytes = 4096, .memory_class = MemoryClass::kDevice});

  const auto written = WriteTorchSnapshot(trace, sink);

  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message(), HasSubstr("no segments and tensors"));
}

}  // namespace
}  // namespace orrery::exporting
