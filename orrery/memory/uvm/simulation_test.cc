#include "orrery/memory/uvm/simulation.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/memory/uvm/machine_test.h"
#include "orrery/memory/uvm/parameters.h"
#include "orrery/memory/uvm/workload.h"

namespace orrery::memory::uvm {
namespace {

using ::testing::ElementsAre;
using Kind = Policy::Kind;

constexpr std::int64_t kPlenty = 1000 * kBlock;

Outcome RunPolicy(const Workload& workload, const Policy& policy, std::int64_t capacity_bytes,
                  int iterations = 1) {
  return SimulatePolicy(workload, TestParameters(), TestRates(), policy,
                        {.capacity_bytes = capacity_bytes, .iterations = iterations});
}

// Ten objects of one block (four pages), each touched by an operator of its own for 1,000 ns.
Workload TenInARow(bool is_filled) {
  WorkloadBuilder builder = TestBuilder();
  for (int i = 0; i < 10; ++i) {
    const std::size_t object = AddAlone(builder, 4);
    if (is_filled) {
      builder.Fill(object);
    }
    AddUse(builder, 1000, object);
  }
  return builder.Finish();
}

// Each operator: four faults in two batches of one block: 2 · 100 + 2 · 10 ns, and four empty
// pages: 4 · 1 ns. 112 ns until the first half is there; the second comes while the first is
// computed.
TEST(UvmSimulationTest, WithoutPrefetchEmptyPagesCostTheirFaults) {
  const Outcome outcome = RunPolicy(TenInARow(false), {}, kPlenty);

  EXPECT_EQ(outcome.faults.faults, 40);
  EXPECT_EQ(outcome.faults.batches, 20);
  EXPECT_EQ(outcome.Moved().pages_in, 40);
  EXPECT_EQ(outcome.Moved().pages_copied, 0);
  EXPECT_EQ(outcome.fault_stall_ns, 1120);
  EXPECT_EQ(outcome.total_ns, 11120);
}

// As above with copies of 20 ns a page: 220 + 80 ns each, half of which is waited for.
TEST(UvmSimulationTest, WithoutPrefetchDataCostTheirCopyToo) {
  const Outcome outcome = RunPolicy(TenInARow(true), {}, kPlenty);

  EXPECT_EQ(outcome.Moved().pages_copied, 40);
  EXPECT_EQ(outcome.total_ns, 11500);
}

// Four pages in two batches take 300 ns to serve; of the kernel's 100 ns one half runs behind them.
TEST(UvmSimulationTest, AShortKernelRunsBehindItsFaults) {
  WorkloadBuilder builder = TestBuilder();
  const std::size_t object = AddAlone(builder, 4);
  builder.Fill(object);
  AddUse(builder, 100, object);

  EXPECT_EQ(RunPolicy(builder.Finish(), {}, kPlenty).total_ns, 350);
}

// One batch: nothing is there to compute on before it is served. 50 + 100 + 10 + 2 · 1 ns, then
// 100.
TEST(UvmSimulationTest, AKernelWithOneBatchWaitsForItAndForTheDriverToWake) {
  WorkloadBuilder builder = TestBuilder();
  AddUse(builder, 100, AddAlone(builder, 2));
  Parameters parameters = TestParameters();
  parameters.wake_ns = 50;

  const Outcome outcome =
      SimulatePolicy(builder.Finish(), parameters, TestRates(), {}, {.capacity_bytes = kPlenty});

  EXPECT_EQ(outcome.total_ns, 262);
}

// Two operators with a prefetch of 1 + 40 ns each; with lookahead both are asked for at the first.
TEST(UvmSimulationTest, ThePrefetcherWakesOnceForAllThatIsAskedForAtOnce) {
  WorkloadBuilder builder = TestBuilder();
  for (int i = 0; i < 2; ++i) {
    const std::size_t object = AddAlone(builder, 4);
    builder.Fill(object);
    AddUse(builder, 1000, object);
  }
  const Workload workload = builder.Finish();
  Parameters parameters = TestParameters();
  parameters.prefetch_wake_ns = 30;
  const auto stall = [&](int lookahead) {
    return SimulatePolicy(workload, parameters, TestRates(),
                          {.kind = Kind::kTensor, .lookahead = lookahead},
                          {.capacity_bytes = kPlenty})
        .prefetch_stall_ns;
  };

  EXPECT_EQ(stall(0), 2 * (30 + 41));
  // The first waits for its own; the second's are there and one call finds that.
  EXPECT_EQ(stall(1), 30 + 41 + 30 + 1);
  // A stream of their own has nothing before them.
  parameters.has_prefetch_stream = true;
  EXPECT_EQ(stall(0), 2 * 41);
}

// Twice two blocks that hold data: 1 + 2 · 7 + 5 + 80 ns before the first operator, 1 + 2 · 7 ns
// before the second, which finds all there.
TEST(UvmSimulationTest, APrefetchCostsForEachBlockAlsoWhereAllIsThere) {
  WorkloadBuilder builder = TestBuilder();
  const std::size_t object = AddAlone(builder, 8);
  builder.Fill(object);
  AddUse(builder, 1000, object);
  AddUse(builder, 1000, object);
  Parameters parameters = TestParameters();
  parameters.prefetch_block_ns = 7;
  parameters.prefetch_move_ns = 5;

  const Outcome outcome = SimulatePolicy(builder.Finish(), parameters, TestRates(),
                                         {.kind = Kind::kTensor}, {.capacity_bytes = kPlenty});

  EXPECT_EQ(outcome.prefetch_stall_ns, 100 + 15);
}

// One call of 1 ns and four pages of 10 ns before each operator.
TEST(UvmSimulationTest, PrefetchTakesTheFaultsAway) {
  const Outcome outcome = RunPolicy(TenInARow(true), {.kind = Kind::kTensor}, kPlenty);

  EXPECT_EQ(outcome.faults.faults, 0);
  EXPECT_EQ(outcome.prefetch_calls, 10);
  EXPECT_EQ(outcome.prefetch_stall_ns, 410);
  EXPECT_EQ(outcome.total_ns, 10410);
}

// The first operator waits 41 ns. All others find their pages there and wait for one call of 1 ns,
// which has nothing to do.
TEST(UvmSimulationTest, LookaheadCopiesWhileKernelsRun) {
  const Outcome outcome =
      RunPolicy(TenInARow(true), {.kind = Kind::kTensor, .lookahead = 1}, kPlenty);

  EXPECT_EQ(outcome.prefetch_calls, 19);
  EXPECT_EQ(outcome.prefetched.pages_in, 40);
  EXPECT_EQ(outcome.total_ns, 10000 + 41 + 9);
}

TEST(UvmSimulationTest, WhatIsThereStaysThereInTheNextIteration) {
  const Outcome outcome = RunPolicy(TenInARow(true), {}, kPlenty, 2);

  EXPECT_EQ(outcome.Moved().pages_in, 40);
  EXPECT_EQ(outcome.total_ns, 11500 + 10000);
}

// Two blocks of room for ten in a row, twice: everything misses every time. 20 blocks come in and
// the last two stay, so 18 leave. In the second iteration all ten come back.
TEST(UvmSimulationTest, WhatIsNeededAgainTooLateBounces) {
  const Outcome outcome = RunPolicy(TenInARow(false), {}, 2 * kBlock, 2);

  EXPECT_EQ(
      outcome.Moved(),
      (Movement{
          .pages_in = 80, .pages_copied = 40, .pages_out = 72, .evictions = 18, .bounces = 10}));
  EXPECT_EQ(outcome.bounced_blocks, 10);
}

// The oracle keeps the two that come back first. First iteration: 40 in, 32 go at once. Second: 8
// are there, 32 come in and go.
TEST(UvmSimulationTest, TheOracleKeepsWhatIsNeededNext) {
  const Movement moved = OracleMovement(TenInARow(false), 2 * kBlock, 2);

  EXPECT_EQ(moved.pages_in, 72);
  EXPECT_EQ(moved.pages_copied, 32);
  EXPECT_EQ(moved.pages_out, 64);
}

// One root of two blocks with a tensor in each. Object level brings both for the first operator:
// 1 + 80 ns, then 1 ns. Tensor level: twice 41 ns.
TEST(UvmSimulationTest, ObjectLevelBringsTheWholeSegment) {
  WorkloadBuilder builder = TestBuilder();
  const std::size_t root = builder.AddRoot({.address = 0, .bytes = 2 * kBlock});
  const std::size_t segment = *builder.AddObject(root, {.address = 0, .bytes = 2 * kBlock});
  const std::size_t left = *builder.AddObject(root, {.address = 0, .bytes = kBlock});
  const std::size_t right = *builder.AddObject(root, {.address = kBlock, .bytes = kBlock});
  builder.SetContainer(left, segment);
  builder.SetContainer(right, segment);
  builder.Fill(segment);
  AddUse(builder, 1000, left);
  AddUse(builder, 1000, right);
  const Workload workload = builder.Finish();

  EXPECT_EQ(RunPolicy(workload, {.kind = Kind::kObject}, kPlenty).total_ns, 2082);
  EXPECT_EQ(RunPolicy(workload, {.kind = Kind::kTensor}, kPlenty).total_ns, 2082);
  EXPECT_EQ(RunPolicy(workload, {.kind = Kind::kObject}, kPlenty).prefetched.pages_in, 8);
}

// The tensor is allocated inside its operator: only its segment can be prefetched when it begins.
TEST(UvmSimulationTest, WhatIsNotYetAliveComesOnlyWithItsSegment) {
  WorkloadBuilder builder = TestBuilder();
  const std::size_t root = builder.AddRoot({.address = 0, .bytes = kBlock});
  const std::size_t segment = *builder.AddObject(root, {.address = 0, .bytes = kBlock});
  const std::size_t tensor = *builder.AddObject(root, {.address = 0, .bytes = kBlock});
  builder.SetContainer(tensor, segment);
  builder.workload().objects[tensor].first_operator = 1;
  AddUse(builder, 1000, tensor);
  const Workload workload = builder.Finish();

  EXPECT_EQ(RunPolicy(workload, {.kind = Kind::kTensor}, kPlenty).faults.faults, 4);
  EXPECT_EQ(RunPolicy(workload, {.kind = Kind::kObject}, kPlenty).faults.faults, 0);
}

// PASTA defect 23: the second kernel of an operator must not overwrite what the first one needs.
TEST(UvmSimulationTest, AnOperatorPrefetchesTheUnionOverItsKernels) {
  WorkloadBuilder builder = TestBuilder();
  const std::size_t first = AddAlone(builder, 4);
  const std::size_t second = AddAlone(builder, 4);
  const std::size_t op = builder.AddOperator("aten::addmm");
  builder.AddWork(op, 10);
  builder.AddTouch(first);
  builder.AddWork(op, 10);
  builder.AddTouch(second);
  const Workload workload = builder.Finish();

  EXPECT_THAT(ScheduleOf(workload, {.kind = Kind::kTensor}),
              ElementsAre(ElementsAre(first, second)));
  EXPECT_EQ(RunPolicy(workload, {.kind = Kind::kTensor}, kPlenty).faults.faults, 0);
}

TEST(UvmSimulationTest, FreedMemoryMakesRoomWithoutACopy) {
  WorkloadBuilder builder = TestBuilder();
  AddUse(builder, 10, AddAlone(builder, 4));
  builder.EndRoot(0);
  AddUse(builder, 10, AddAlone(builder, 4));
  const Workload workload = builder.Finish();

  EXPECT_EQ(RunPolicy(workload, {}, kBlock).Moved().pages_out, 0);
  EXPECT_EQ(OracleMovement(workload, kBlock, 1).pages_out, 0);
}

// Memory that is freed and born again is new: it comes in empty, in both iterations.
TEST(UvmSimulationTest, MemoryThatIsBornAgainIsEmpty) {
  WorkloadBuilder builder = TestBuilder();
  AddUse(builder, 10, AddAlone(builder, 4));
  builder.EndRoot(0);
  const Workload workload = builder.Finish();

  EXPECT_EQ(RunPolicy(workload, {}, kBlock, 2).Moved(), (Movement{.pages_in = 8}));
  EXPECT_EQ(OracleMovement(workload, kBlock, 2).pages_in, 8);
  EXPECT_EQ(OracleMovement(workload, kBlock, 2).pages_copied, 0);
}

TEST(UvmSimulationTest, NothingToPlayGivesZeros) {
  WorkloadBuilder builder = TestBuilder();
  const Workload workload = builder.Finish();

  EXPECT_EQ(RunPolicy(workload, {.kind = Kind::kTensor, .lookahead = 2}, kBlock, 2).total_ns, 0);
  EXPECT_EQ(OracleMovement(workload, kBlock, 2), Movement());
}

TEST(UvmSimulationTest, OperatorsAndRootsAddUpToTheWhole) {
  const Outcome outcome = RunPolicy(TenInARow(true), {.kind = Kind::kObject}, 2 * kBlock, 2);

  Movement of_operators;
  std::int64_t time_ns = 0;
  for (const OperatorCosts& figures : outcome.of_operator) {
    of_operators += figures.faults.moved;
    of_operators += figures.prefetched;
    time_ns += figures.kernel_ns + figures.stall_ns;
  }
  Movement of_roots;
  for (const Movement& moved : outcome.of_root) {
    of_roots += moved;
  }
  EXPECT_EQ(of_operators, outcome.Moved());
  EXPECT_EQ(of_roots, outcome.Moved());
  EXPECT_EQ(time_ns, outcome.total_ns);
}

}  // namespace
}  // namespace orrery::memory::uvm
