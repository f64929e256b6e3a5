#include "orrery/workload/recorded/alone_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/trace/enums.h"
#include "orrery/workload/recorded/recordings_test.h"

namespace orrery::workload {
namespace {

using ::testing::ElementsAre;

/// A kernel on stream 7 from 10 to 50 and one on stream 20 from 30 to 90, in µs.
RecordingWriter TwoStreams() {
  RecordingWriter writer;
  writer.Launch(0, 1, 40'000, 10);
  writer.SwitchStream(20);
  writer.Launch(2, 3, 60'000, 30);
  return writer;
}

// From 30 to 50 both want all multiprocessors and get half: the first lost 10 of its 40, the second
// 10 of its 60.
TEST(AloneKernelsTest, KernelsThatShareTheGpuHaveHalfOfIt) {
  const AloneKernels alone = AloneKernelsOf(TwoStreams().Finish());
  EXPECT_TRUE(alone.have_several_streams);
  EXPECT_THAT(alone.duration_ns, ElementsAre(30'000, 50'000));
  EXPECT_THAT(alone.sm_share, ElementsAre(1'000'000, 1'000'000));
}

// 33 blocks and 66 blocks fit beside each other on 132 multiprocessors: nothing is lost.
TEST(AloneKernelsTest, KernelsThatFitBesideEachOtherLoseNothing) {
  RecordingWriter writer = TwoStreams();
  writer.trace.devices.Append({.multiprocessors = 132});
  writer.trace.activities.shape[0] = writer.trace.launch_shapes.Append({.grid_x = 33});
  writer.trace.activities.shape[1] = writer.trace.launch_shapes.Append({.grid_x = 11, .grid_y = 6});
  const AloneKernels alone = AloneKernelsOf(writer.Finish());
  EXPECT_THAT(alone.duration_ns, ElementsAre(40'000, 60'000));
  EXPECT_THAT(alone.sm_share, ElementsAre(250'000, 500'000));
}

// A copy from 10 to 50 takes no multiprocessors.
TEST(AloneKernelsTest, CopiesSlowNobodyDown) {
  RecordingWriter writer = TwoStreams();
  writer.trace.activities.kind[0] = trace::ActivityKind::kMemcpy;
  const AloneKernels alone = AloneKernelsOf(writer.Finish());
  EXPECT_FALSE(alone.have_several_streams);
  EXPECT_THAT(alone.duration_ns, ElementsAre(40'000, 60'000));
  EXPECT_EQ(alone.sm_share[0], 0);
}

// Kernels of one stream that overlap, as those of a programmatic launch do, share nothing.
TEST(AloneKernelsTest, KernelsOfOneStreamAreLeftAsRecorded) {
  RecordingWriter writer;
  writer.Launch(0, 1, 40'000, 10);
  writer.Launch(2, 3, 60'000, 45);
  writer.SwitchStream(20);
  writer.Launch(4, 5, 1'000, 200);
  EXPECT_THAT(AloneKernelsOf(writer.Finish()).duration_ns, ElementsAre(40'000, 60'000, 1'000));
}

}  // namespace
}  // namespace orrery::workload
