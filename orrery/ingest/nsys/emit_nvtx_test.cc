#include <gtest/gtest.h>

#include "orrery/ingest/nsys/nvtx_payload.h"

namespace orrery::ingest::nsys {
namespace {

TEST(EmitNvtxTest, AllPartsAreTakenApart) {
  const auto op = ParseEmittedOperator(
      "aten::view, seq = 12, op_id = 314290, sizes = [[4, 8], []], input_op_ids = [(3,0)]");

  ASSERT_TRUE(op);
  EXPECT_EQ(op->name, "aten::view");
  EXPECT_EQ(op->sequence, 12);
  EXPECT_EQ(op->record_function_id, 314290);
  EXPECT_EQ(op->sizes, "[[4, 8], []]");
  EXPECT_EQ(op->input_op_ids, "[(3,0)]");
}

TEST(EmitNvtxTest, EveryPartMayBeAbsent) {
  const auto op = ParseEmittedOperator("AddmmBackward0, sizes = [[2]]");

  ASSERT_TRUE(op);
  EXPECT_EQ(op->name, "AddmmBackward0");
  EXPECT_EQ(op->sequence, -1);
  EXPECT_EQ(op->record_function_id, 0);
  EXPECT_EQ(op->sizes, "[[2]]");
  EXPECT_EQ(ParseEmittedOperator("aten::add")->name, "aten::add");
}

TEST(EmitNvtxTest, OtherRangesAreNotOperators) {
  EXPECT_FALSE(ParseEmittedOperator("iteration 3, warm-up"));
  EXPECT_FALSE(ParseEmittedOperator(""));
  EXPECT_FALSE(ParseEmittedOperator("ncclAllReduce"));
}

TEST(EmitNvtxTest, SizesThatAreNotListsOfNumbersAreNotPassedOn) {
  EXPECT_EQ(ParseEmittedOperator("aten::x, sizes = [[s0, 4]]")->sizes, "");
  EXPECT_EQ(ParseEmittedOperator("aten::x, sizes = [[4]")->sizes, "");
}

}  // namespace
}  // namespace orrery::ingest::nsys
