#include <vector>

#include <gtest/gtest.h>

#include "orrery/memory/kernel_counts.h"
#include "orrery/memory/recording_test.h"
#include "orrery/trace/trace.h"

namespace orrery::memory {
namespace {

KernelFrequency CountOf(const std::vector<const trace::Trace*>& ranks) {
  KernelCounter counter;
  for (const trace::Trace* const rank : ranks) {
    counter.Add(*rank);
  }
  return counter.Count();
}

TEST(KernelFrequency, InstancesOfATemplateAreOneGroupWithAKeyToFullNames) {
  TestRecording recording;
  recording.Launched("gemm");
  recording.Launched("void add<float>(float*)");
  recording.Launched("void add<int>(int*)");
  recording.Launched("void add<int>(int*)");
  recording.Copied("add");
  const std::vector<const trace::Trace*> ranks{&recording.trace};
  const KernelFrequency frequency = CountOf(ranks);
  EXPECT_EQ(frequency.num_launches, 4);
  EXPECT_EQ(frequency.total_ns, 40);
  ASSERT_EQ(frequency.groups.size(), 2U);
  EXPECT_EQ(
      frequency.groups[0],
      (KernelGroup{.name = "add",
                   .count = 3,
                   .total_ns = 30,
                   .variants = {{"void add<int>(int*)", 2}, {"void add<float>(float*)", 1}}}));
  EXPECT_EQ(frequency.groups[1].name, "gemm");
}

// PASTA defect 29: equal counts have an order of their own, whatever the order of launches.
TEST(KernelFrequency, TiesAreInOrderOfName) {
  TestRecording forwards;
  forwards.Launched("b");
  forwards.Launched("a");
  TestRecording backwards;
  backwards.Launched("a");
  backwards.Launched("b");
  const std::vector<const trace::Trace*> one{&forwards.trace};
  const std::vector<const trace::Trace*> other{&backwards.trace};
  EXPECT_EQ(CountOf(one), CountOf(other));
  EXPECT_EQ(CountOf(one).groups[0].name, "a");
}

// PASTA defect 9: an empty stream gives zeros.
TEST(KernelFrequency, AnEmptyTraceGivesZeros) {
  const trace::Trace empty;
  const std::vector<const trace::Trace*> ranks{&empty};
  EXPECT_EQ(CountOf(ranks), KernelFrequency());
}

TEST(KernelFrequency, RanksAddUp) {
  TestRecording recording;
  recording.Launched("a");
  const std::vector<const trace::Trace*> ranks{&recording.trace, &recording.trace};
  EXPECT_EQ(CountOf(ranks).groups.at(0).count, 2);
}

}  // namespace
}  // namespace orrery::memory
