#include <gtest/gtest.h>

#include "orrery/compat/ccl_bench/kernel_rows.h"

namespace orrery::compat::ccl_bench {
namespace {

TEST(ShapeBytesTest, AddsUpTuples) {
  EXPECT_EQ(ShapeBytes("(bf16[8,128]{1,0:T(8,128)}, u32[])"), 2052.0);
  EXPECT_EQ(ShapeBytes("pred[16]"), 16.0);
  EXPECT_EQ(ShapeBytes("f8e4m3fn[4]"), 4.0);
  EXPECT_EQ(ShapeBytes("token"), 0.0);
}

}  // namespace
}  // namespace orrery::compat::ccl_bench
