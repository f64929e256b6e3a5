#include "orrery/memory/uvm/collect.h"

#include <cstdint>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/hardware/gpu.h"
#include "orrery/memory/recording_test.h"
#include "orrery/memory/uvm/parameters.h"
#include "orrery/memory/uvm/workload.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::memory::uvm {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;
using trace::Coverage;
using trace::MemoryClass;

constexpr std::int64_t kSmallPage = 4096;
constexpr std::uint64_t kBase = std::uint64_t{1} << 30;

Collected CollectOn(const trace::Trace& trace) {
  return Collect(trace, DefaultParameters(), *hardware::FindGpu("A100"));
}

TEST(UvmCollectTest, AnEmptyRecordingGivesAnEmptyWorkload) {
  const Collected collected = CollectOn({});

  EXPECT_TRUE(collected.workload.works.empty());
  EXPECT_EQ(collected.workload.footprint_bytes, 0);
}

// A segment of 20 pages with a tensor of 4 pages at its ninth.
TEST(UvmCollectTest, TensorsLieInTheirSegment) {
  TestRecording recording;
  const RowId segment = recording.Born(kBase, 20 * kSmallPage, MemoryClass::kSegment);
  const RowId tensor =
      recording.Born(kBase + 8 * kSmallPage, 4 * kSmallPage, MemoryClass::kTensor, segment);
  recording.Touched(recording.Launched("k"), tensor, 100, 0);

  const Collected collected = CollectOn(recording.trace);

  ASSERT_THAT(collected.workload.roots, SizeIs(1));
  ASSERT_THAT(collected.workload.objects, SizeIs(2));
  EXPECT_EQ(collected.workload.objects[1].container, 0U);
  EXPECT_EQ(collected.workload.objects[1].pages, (PageRange{.first = 8, .count = 4}));
  EXPECT_EQ(collected.workload.touches.at(0).pages, (PageRange{.first = 8, .count = 4}));
  EXPECT_EQ(collected.basis.touches_whole, 1);
  EXPECT_EQ(collected.workload.footprint_bytes, 20 * kSmallPage);
}

TEST(UvmCollectTest, RecordedPagesCountInPlaceOfTheWholeObject) {
  TestRecording recording;
  const RowId object = recording.Born(kBase, 100 * kSmallPage, MemoryClass::kDevice);
  const RowId launch = recording.Launched("k");
  recording.Touched(launch, object, 100, 0);
  recording.trace.page_runs.Append({.activity = launch,
                                    .object = object,
                                    .address = kBase + 2 * kSmallPage,
                                    .num_pages = 3,
                                    .page_bytes = kSmallPage});

  const Collected collected = CollectOn(recording.trace);

  ASSERT_THAT(collected.workload.touches, SizeIs(1));
  EXPECT_EQ(collected.workload.touches[0].pages, (PageRange{.first = 2, .count = 3}));
  EXPECT_EQ(collected.basis.touches_by_page, 1);
  EXPECT_EQ(collected.basis.touches_whole, 0);
}

// Arguments say nothing new of a launch that was seen exactly.
TEST(UvmCollectTest, ArgumentsCountAsWholeObjectsWhereNothingBetterIsKnown) {
  TestRecording recording;
  const RowId object = recording.Born(kBase, 100 * kSmallPage, MemoryClass::kDevice);
  recording.Reached(recording.Launched("seen", Coverage::kExact), object);
  recording.Reached(recording.Launched("unseen", Coverage::kByArgument), object);

  const Collected collected = CollectOn(recording.trace);

  EXPECT_EQ(collected.basis.touches_by_argument, 1);
  EXPECT_EQ(collected.basis.works_without_touches, 1);
  EXPECT_EQ(collected.workload.works[1].num_touches, 1U);
}

TEST(UvmCollectTest, PinnedMemoryAndAddressesOfNobodyAreLeftOut) {
  TestRecording recording;
  const RowId pinned = recording.Born(kBase, 100 * kSmallPage, MemoryClass::kPinned);
  const RowId launch = recording.Launched("k");
  recording.Touched(launch, pinned, 100, 0);
  recording.Touched(launch, kNoRow, 100, 0);

  const Collected collected = CollectOn(recording.trace);

  EXPECT_EQ(collected.basis.touches_left_out, 2);
  EXPECT_EQ(collected.workload.footprint_bytes, 0);
}

// The A100 of 80 GB reads 2,039 GB a second: 4,078,000,000 bytes take 2 ms. 100 bytes take the
// shortest time of a kernel.
TEST(UvmCollectTest, KernelsWithoutATimeTakeTheirBytes) {
  TestRecording recording;
  const RowId object = recording.Born(kBase, 100 * kSmallPage, MemoryClass::kDevice);
  recording.Touched(recording.Launched("a", Coverage::kExact, 0), object, 4'078'000'000, 0);
  recording.Touched(recording.Launched("b", Coverage::kExact, 0), object, 100, 0);
  recording.Touched(recording.Launched("c", Coverage::kExact, 77), object, 100, 0);

  const Collected collected = CollectOn(recording.trace);

  EXPECT_EQ(collected.workload.works[0].duration_ns, 2'000'000);
  EXPECT_EQ(collected.workload.works[1].duration_ns, DefaultParameters().kernel_floor_ns);
  EXPECT_EQ(collected.workload.works[2].duration_ns, 77);
  EXPECT_EQ(collected.basis.durations_modelled, 2);
}

// PASTA's advisor writes down what was touched when the outermost operator ends.
TEST(UvmCollectTest, OperatorsInsideOfOthersBelongToTheOutermost) {
  TestRecording recording;
  const RowId first = recording.Born(kBase, kSmallPage, MemoryClass::kDevice);
  const RowId second = recording.Born(2 * kBase, kSmallPage, MemoryClass::kDevice);
  const RowId outer =
      recording.trace.host_ops.Append({.name = recording.trace.strings.Intern("aten::linear")});
  const RowId inner = recording.trace.host_ops.Append(
      {.name = recording.trace.strings.Intern("aten::mm"), .parent = outer});
  for (const RowId object : {first, second}) {
    const RowId launch = recording.Launched("k");
    recording.trace.activities.host_op[launch] = object == first ? inner : outer;
    recording.Touched(launch, object, 4, 0);
  }

  const Collected collected = CollectOn(recording.trace);

  ASSERT_THAT(collected.workload.operators, SizeIs(1));
  EXPECT_EQ(collected.workload.operators[0].name, "aten::linear");
  EXPECT_THAT(collected.workload.operators[0].objects, ElementsAre(0, 1));
}

// The weights are copied at 10, the step begins at 20. Both pieces of memory are freed at the end:
// the weights are there in the next iteration, what was born in the step is not.
TEST(UvmCollectTest, WhatIsLoadedBeforeTheFirstStepLiesOnTheHost) {
  TestRecording recording;
  const RowId load = recording.trace.host_ops.Append({.begin_ns = 10});
  const RowId use = recording.trace.host_ops.Append({.begin_ns = 25});
  recording.trace.steps.Append({.begin_ns = 20});
  const RowId weights = recording.Born(kBase, kSmallPage, MemoryClass::kDevice);
  const RowId loads = recording.Copied("load");
  recording.trace.activities.host_op[loads] = load;
  recording.Touched(loads, weights, 0, 8);
  const RowId output = recording.Born(2 * kBase, kSmallPage, MemoryClass::kDevice);
  recording.trace.activities.host_op[recording.Launched("use")] = use;
  recording.Died(weights);
  recording.Died(output);

  const Collected collected = CollectOn(recording.trace);
  const Workload& workload = collected.workload;

  EXPECT_EQ(collected.basis.works_before, 1);
  EXPECT_THAT(workload.works, SizeIs(1));
  EXPECT_THAT(workload.filled, ElementsAre(workload.objects[0].pages));
  EXPECT_EQ(workload.roots[0].end_work, kNoIndex);
  EXPECT_EQ(workload.roots[1].end_work, 1U);
}

// PASTA defect 23: two kernels of one operator, with one of another in between.
TEST(UvmCollectTest, AnOperatorTouchesTheUnionOverItsKernels) {
  TestRecording recording;
  const RowId first = recording.Born(kBase, kSmallPage, MemoryClass::kDevice);
  const RowId second = recording.Born(2 * kBase, kSmallPage, MemoryClass::kDevice);
  const RowId outer =
      recording.trace.host_ops.Append({.name = recording.trace.strings.Intern("aten::linear")});
  const RowId inner =
      recording.trace.host_ops.Append({.name = recording.trace.strings.Intern("aten::mm")});
  for (const RowId op : {outer, inner, outer}) {
    const RowId launch = recording.Launched("k");
    recording.trace.activities.host_op[launch] = op;
    recording.Touched(launch, op == inner || launch == 2 ? second : first, 4, 0);
  }

  const Collected collected = CollectOn(recording.trace);

  ASSERT_THAT(collected.workload.operators, SizeIs(2));
  EXPECT_EQ(collected.workload.operators[0].name, "aten::linear");
  EXPECT_THAT(collected.workload.operators[0].objects, ElementsAre(0, 1));
  EXPECT_THAT(collected.workload.operators[1].objects, ElementsAre(1));
}

// Orders: birth 1, launches 2 and 3, death 4, launch 5, birth 6, launch 7.
TEST(UvmCollectTest, LivesAreCountedInOperatorsAndWorks) {
  TestRecording recording;
  const RowId early = recording.Born(kBase, kSmallPage, MemoryClass::kDevice);
  recording.Launched("a");
  recording.Launched("b");
  recording.Died(early);
  recording.Launched("c");
  recording.Born(2 * kBase, kSmallPage, MemoryClass::kDevice);
  recording.Launched("d");

  const Workload workload = CollectOn(recording.trace).workload;

  EXPECT_EQ(workload.roots[0].end_work, 2U);
  EXPECT_EQ(workload.objects[0].first_operator, 0U);
  EXPECT_EQ(workload.objects[0].end_operator, 2U);
  EXPECT_EQ(workload.objects[1].first_operator, 3U);
  EXPECT_EQ(workload.footprint_bytes, kSmallPage);
}

// The operator begins at 10 and allocates at 15: when it begins, the tensor is not there.
TEST(UvmCollectTest, WhatAnOperatorAllocatesIsNotAliveWhenItBegins) {
  TestRecording recording;
  const RowId object = recording.Born(kBase, kSmallPage, MemoryClass::kDevice);
  recording.trace.memory_objects.begin_ns[object] = 15;
  const RowId op = recording.trace.host_ops.Append({.begin_ns = 10});
  recording.trace.activities.host_op[recording.Launched("k")] = op;
  recording.Launched("later");

  EXPECT_EQ(CollectOn(recording.trace).workload.objects[0].first_operator, 1U);
}

// Of memory that was there before, what has nothing in it holds data.
TEST(UvmCollectTest, MemoryFromBeforeTheRecordingHoldsData) {
  TestRecording recording;
  const RowId segment = recording.Born(kBase, 20 * kSmallPage, MemoryClass::kSegment);
  const RowId weight = recording.Born(kBase, 4 * kSmallPage, MemoryClass::kTensor, segment);
  recording.Born(kBase + 4 * kSmallPage, 4 * kSmallPage, MemoryClass::kTensor, segment);
  recording.trace.memory_objects.birth_order[segment] = -1;
  recording.trace.memory_objects.birth_order[weight] = -1;

  EXPECT_THAT(CollectOn(recording.trace).workload.filled,
              ElementsAre(PageRange{.first = 0, .count = 4}));
}

// Two objects that lie in each other, one of an impossible size, and a run of impossible pages.
TEST(UvmCollectTest, NumbersOfDamagedFilesDoNoHarm) {
  TestRecording recording;
  const RowId first = recording.Born(kBase, kSmallPage, MemoryClass::kTensor, 1);
  recording.Born(kBase, kSmallPage, MemoryClass::kTensor, 0);
  const RowId large = recording.Born(kBase, std::int64_t{1} << 62, MemoryClass::kDevice);
  const RowId sane = recording.Born(2 * kBase, 3 * kSmallPage, MemoryClass::kDevice);
  const RowId launch = recording.Launched("k", Coverage::kExact, 0);
  recording.Touched(launch, first, 4, 0);
  recording.Touched(launch, large, 4, std::int64_t{1} << 60);
  recording.Touched(launch, sane, 4, 0);
  recording.trace.page_runs.Append({.activity = launch,
                                    .object = sane,
                                    .address = 2 * kBase + kSmallPage,
                                    .num_pages = std::int64_t{1} << 62,
                                    .page_bytes = std::int64_t{1} << 62});

  const Collected collected = CollectOn(recording.trace);

  EXPECT_EQ(collected.basis.touches_left_out, 2);
  EXPECT_EQ(collected.workload.footprint_bytes, 3 * kSmallPage);
  ASSERT_THAT(collected.workload.touches, SizeIs(1));
  EXPECT_EQ(collected.workload.touches[0].pages, (PageRange{.first = 1, .count = 2}));
}

}  // namespace
}  // namespace orrery::memory::uvm
