#include <cstddef>
#include <optional>

#include <gtest/gtest.h>

#include "orrery/memory/uvm/machine_test.h"
#include "orrery/memory/uvm/residency.h"
#include "orrery/memory/uvm/workload.h"

namespace orrery::memory::uvm {
namespace {

FaultCounts ServeAll(const Workload& workload, int max_faults, std::optional<PrefetchTree> tree) {
  Residency residency(workload, 100 * kBlock);
  return FaultServer(max_faults, tree, residency).Serve(workload.touches, workload.pages_per_block);
}

// Two objects of three pages, batches of four: {X X X Y} in two blocks, then {Y Y} in one.
TEST(FaultServerTest, BatchesFillUpAndGroupTheirPagesByBlock) {
  WorkloadBuilder builder = TestBuilder();
  AddUse(builder, 0, AddAlone(builder, 3), AddAlone(builder, 3));

  const FaultCounts figures = ServeAll(builder.Finish(), 4, {});

  EXPECT_EQ(figures.faults, 6);
  EXPECT_EQ(figures.batches, 2);
  EXPECT_EQ(figures.blocks, 3);
  EXPECT_EQ(figures.moved.pages_in, 6);
}

TEST(FaultServerTest, PagesThatAreTouchedTwiceFaultOnce) {
  WorkloadBuilder builder = TestBuilder();
  const std::size_t object = AddAlone(builder, 3);
  const std::size_t other = AddAlone(builder, 1);
  AddUse(builder, 0, object, other, object);

  const FaultCounts figures = ServeAll(builder.Finish(), 256, {});

  EXPECT_EQ(figures.faults, 4);
  EXPECT_EQ(figures.batches, 1);
  EXPECT_EQ(figures.blocks, 2);
}

TEST(FaultServerTest, AFullBatchIsNotFollowedByAnEmptyOne) {
  WorkloadBuilder builder = TestBuilder();
  AddUse(builder, 0, AddAlone(builder, 4));

  EXPECT_EQ(ServeAll(builder.Finish(), 4, {}).batches, 1);
}

// Batches of two. {0, 1} are a half of the block: nothing more. {2, 3} are all that is left.
// With batches of three, {0, 1, 2} are 75 %, so page 3 comes along and never faults.
TEST(FaultServerTest, WhatTheDriverPrefetchesDoesNotFault) {
  WorkloadBuilder builder = TestBuilder();
  AddUse(builder, 0, AddAlone(builder, 4));
  const Workload workload = builder.Finish();
  const PrefetchTree tree = TestParameters().Tree();

  EXPECT_EQ(ServeAll(workload, 2, tree).faults, 4);
  const FaultCounts figures = ServeAll(workload, 3, tree);
  EXPECT_EQ(figures.faults, 3);
  EXPECT_EQ(figures.batches, 1);
  EXPECT_EQ(figures.moved.pages_in, 4);
}

}  // namespace
}  // namespace orrery::memory::uvm
