#include <optional>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/memory/kernel_counts.h"
#include "orrery/memory/recording_test.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::memory {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::optional<MostReferenced> FindMostReferenced(const trace::Trace& trace) {
  ReferenceCounter counter;
  counter.Add(trace);
  return counter.Most();
}

void CalledFrom(TestRecording& recording, std::string_view stack) {
  recording.trace.observations.call_stack.back() = recording.trace.strings.Intern(stack);
}

// A lane has 4 bytes: "add" has 100 + 200 accesses from two places, "norm" one launch of 250.
TEST(MostReferencedTest, IsTheKernelWithMostAccessesAndItsBusiestPlace) {
  TestRecording recording;
  const RowId object = recording.Born(0x1000, 4096);
  recording.Touched(recording.Launched("add"), object, 400, 0);
  CalledFrom(recording, "a.py:1 f\nmain.py:9 run");
  recording.Touched(recording.Launched("norm"), object, 1000, 0);
  CalledFrom(recording, "c.py:3 h");
  recording.Touched(recording.Launched("add"), object, 0, 800);
  CalledFrom(recording, "b.py:2 g\nmain.py:9 run");

  const auto most = FindMostReferenced(recording.trace);

  ASSERT_TRUE(most);
  EXPECT_EQ(most->kernel, "add");
  EXPECT_EQ(most->accesses, 300);
  EXPECT_EQ(most->num_launches, 2);
  EXPECT_THAT(most->call_stack, ElementsAre("b.py:2 g", "main.py:9 run"));
  EXPECT_EQ(most->stack_accesses, 200);
}

// Objects known only by argument are not accessed, and copies are not kernels.
TEST(MostReferencedTest, CountsOnlyWhatWasCounted) {
  TestRecording recording;
  const RowId object = recording.Born(0x1000, 4096);
  recording.Reached(recording.Launched("gemm", trace::Coverage::kByArgument), object);
  CalledFrom(recording, "a.py:1 f");
  recording.Touched(recording.Copied("Memcpy"), object, 4096, 0);

  EXPECT_FALSE(FindMostReferenced(recording.trace));
}

TEST(MostReferencedTest, ARecordingWithoutStacksHasNone) {
  TestRecording recording;
  recording.Touched(recording.Launched("add"), recording.Born(0x1000, 4096), 400, 0);

  EXPECT_FALSE(FindMostReferenced(recording.trace));
  EXPECT_FALSE(FindMostReferenced(trace::Trace()));
}

// Names and stacks have other numbers in the second piece.
TEST(MostReferencedTest, PiecesAddUp) {
  ReferenceCounter counter;
  for (const std::string_view other : {"", "other"}) {
    TestRecording recording;
    recording.trace.strings.Intern(other);
    recording.Touched(recording.Launched("add"), recording.Born(0x1000, 4096), 400, 0);
    CalledFrom(recording, "a.py:1 f");
    counter.Add(recording.trace);
  }

  const auto most = counter.Most();

  ASSERT_TRUE(most);
  EXPECT_EQ(most->accesses, 200);
  EXPECT_EQ(most->num_launches, 2);
  EXPECT_EQ(most->stack_accesses, 200);
}

// The kernel with most accesses was not launched from where a stack is known.
TEST(MostReferencedTest, AKernelWithoutAStackHasNoFrames) {
  TestRecording recording;
  const RowId object = recording.Born(0x1000, 4096);
  recording.Touched(recording.Launched("add"), object, 400, 0);
  recording.Touched(recording.Launched("norm"), object, 4, 0);
  CalledFrom(recording, "a.py:1 f");

  const auto most = FindMostReferenced(recording.trace);

  ASSERT_TRUE(most);
  EXPECT_EQ(most->kernel, "add");
  EXPECT_THAT(most->call_stack, IsEmpty());
}

}  // namespace
}  // namespace orrery::memory
