#include "orrery/ingest/xplane/kernel_details.h"

#include <optional>

#include <gtest/gtest.h>

#include "orrery/base/string_table.h"

namespace orrery::ingest::xplane {
namespace {

TEST(KernelDetailsTest, WordsWithAColumnFillIt) {
  StringTable strings;

  const auto shape = ParseKernelDetails(
      "regs:40 static_shared:100 dynamic_shared:28 grid:6,5,4 block:3,2,1 occ_pct:50", strings);

  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->registers_per_thread, 40);
  EXPECT_EQ(shape->shared_memory_bytes, 128);
  EXPECT_EQ(shape->grid_x, 6);
  EXPECT_EQ(shape->grid_z, 4);
  EXPECT_EQ(shape->block_y, 2);
  EXPECT_EQ(shape->occupancy_percent, 50);
  EXPECT_EQ(shape->extra, StringId::kEmpty);
}

// ROCm says 0 % where it does not know.
TEST(KernelDetailsTest, OtherWordsAreKept) {
  StringTable strings;

  const auto shape =
      ParseKernelDetails(" grid:16,1 block:x private_mem:0 group_mem:64 occ_pct:0", strings);

  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->grid_x, -1);
  EXPECT_EQ(shape->shared_memory_bytes, 64);
  EXPECT_EQ(shape->occupancy_percent, -1);
  EXPECT_EQ(strings.View(shape->extra),
            R"json("grid":"16,1","block":"x","private_mem":"0","occ_pct":"0")json");
}

TEST(KernelDetailsTest, TextWithoutDetailsIsNothing) {
  StringTable strings;

  EXPECT_FALSE(ParseKernelDetails("", strings));
  EXPECT_FALSE(ParseKernelDetails("fast :3", strings));
}

TEST(KernelDetailsTest, ACopySaysItsSizeUnlessItDoesNotKnow) {
  EXPECT_EQ(CopiedBytes("kind:Unknown size:512 dest:0 async:1"), 512);
  EXPECT_EQ(CopiedBytes("kind:Unknown size:0 dest:512 async:1"), std::nullopt);
  EXPECT_EQ(CopiedBytes("size:big"), std::nullopt);
}

}  // namespace
}  // namespace orrery::ingest::xplane
