#include "orrery/ingest/rank_names.h"

#include <optional>

#include <gtest/gtest.h>

namespace orrery::ingest {
namespace {

TEST(RankNamesTest, RanksAreFoundInTheNamesThatToolsGive) {
  EXPECT_EQ(RankInFileName("run/rank3_trace.json"), 3);
  EXPECT_EQ(RankInFileName("rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz"), 34);
  EXPECT_EQ(RankInFileName("kineto_trace_12.json"), 12);
  EXPECT_EQ(RankInFileName("torch_et_0.json.zst"), 0);
  EXPECT_EQ(RankInFileName("worker7_x.json"), 7);
  EXPECT_EQ(RankInFileName("nsys_5.sqlite"), 5);
  EXPECT_EQ(RankInFileName("t1v-n-0a1b2c3d-w-3.xplane.pb"), 3);
  EXPECT_EQ(RankInFileName("eg.rank_1.pt.trace.json.gz"), 1);
}

TEST(RankNamesTest, FoldersDatesAndProcessIdsAreNotRanks) {
  EXPECT_EQ(RankInFileName("rank3/trace.json"), std::nullopt);
  EXPECT_EQ(RankInFileName("trace.json"), std::nullopt);
  EXPECT_EQ(RankInFileName("host.1694039959.json"), std::nullopt);
  EXPECT_EQ(RankInFileName("resnet50.json"), std::nullopt);
}

TEST(RankNamesTest, TheGpuIsBehindItsWordElseWhereTheRankIs) {
  EXPECT_EQ(GpuInFileName("run/nvlink_GPU3.bin"), 3);
  EXPECT_EQ(GpuInFileName("rank9_gpu1.bin"), 1);
  EXPECT_EQ(GpuInFileName("device-2.bin.gz"), 2);
  EXPECT_EQ(GpuInFileName("nvlink_5.bin"), 5);
  EXPECT_EQ(GpuInFileName("rank9.bin"), 9);
  EXPECT_EQ(GpuInFileName("nvlink.bin"), std::nullopt);
}

}  // namespace
}  // namespace orrery::ingest
