#include "orrery/overlap/pair_table.h"

#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/overlap/concurrent_kernels.h"

namespace orrery::overlap {
namespace {

constexpr const char* kHeader =
    "gpu,mode,first,priority,k_name,k_operator,k_copies,k_grid,k_block,k_regs,k_smem,k_alone_us,"
    "k_alone_spread_pct,c_pattern,c_place,c_blocks,c_threads,c_regs,c_smem,c_chunk_bytes,"
    "c_alone_gbps,c_alone_us,k_launch_us,c_launch_us,offset_us,k_together_us,"
    "k_together_spread_pct,k_gap_alone_us,k_gap_us,c_together_gbps,c_together_us,"
    "c_start_delay_us,rejected\n";

std::string Write(const std::string& rows) {
  const std::string path = ::testing::TempDir() + "/pairs.csv";
  std::ofstream(path) << kHeader << rows;
  return path;
}

TEST(PairTable, ReadsBothSides) {
  const std::string path = Write(
      "NVIDIA H200,arrival,K,communication,nvjet_sm90_tst_128x256_64x4_2x1_v_bz_coopA_NTN,"
      "gemm m=4096 n=4096 k=4096 bf16,2,132,384,168,213188,200.5,1.5,copy,hbm,16,544,96,82240,"
      "131072,300,150,2.5,4.0,10,260,2,1.2,1.2,290,160,33,\n");
  const Result<PairTable> table = ReadPairs(std::vector{path});
  ASSERT_TRUE(table) << table.error().message();
  ASSERT_EQ(table->rows.size(), 1U);
  const MeasuredPair& row = table->rows.front();
  EXPECT_EQ(row.gpu, "H200");
  EXPECT_EQ(row.pair.compute.kind, "gemm");
  EXPECT_EQ(row.pair.compute.shape.cluster, 2);
  EXPECT_DOUBLE_EQ(row.pair.compute.flops, 2.0 * 4096 * 4096 * 4096);
  EXPECT_TRUE(row.pair.compute.operands_rotate);
  EXPECT_EQ(row.pair.communication.priority, Priority::kCommunication);
  // Released 10 µs later, and 1.5 µs slower to launch.
  EXPECT_TRUE(row.compute_is_first);
  EXPECT_DOUBLE_EQ(row.offset_us, 11.5);
  EXPECT_DOUBLE_EQ(row.communication_delay_us, 33);
}

TEST(PairTable, WhoBeganFirstIsWhatCounts) {
  // Released 1 µs earlier but 3 µs slower to launch: the other kernel was there first.
  const std::string path = Write(
      "NVIDIA H200,arrival,C,same,x,fill n=1000 fp32,1,4,128,16,0,5,1,spin,hbm,16,544,96,82240,"
      "8192,0,20,1,4,-1,5,1,1,1,0,20,0,\n");
  const Result<PairTable> table = ReadPairs(std::vector{path});
  ASSERT_TRUE(table) << table.error().message();
  EXPECT_TRUE(table->rows.front().compute_is_first);
  EXPECT_DOUBLE_EQ(table->rows.front().offset_us, 2);
}

TEST(PairTable, NamesRowsThatDoNotCount) {
  const std::string start =
      "NVIDIA H200,steady,C,same,x,fill n=1000 fp32,1,4,128,16,0,5,1,spin,hbm,16,544,96,82240,"
      "8192,0,,1,4,,";
  const std::string path = Write(start + "5,1,1,1,0,,0,the clock changed by more than 1 %\n" +
                                 start + "5,12,1,1,0,,0,\n" + start + "0,1,1,1,0,,0,\n");
  const Result<PairTable> table = ReadPairs(std::vector{path});
  ASSERT_TRUE(table) << table.error().message();
  ASSERT_EQ(table->rejected.size(), 3U);
  EXPECT_EQ(table->rejected[0].reason, "the clock changed by more than 1 %");
  EXPECT_EQ(table->rejected[1].reason, "its repeats differ by more than 10 %");
  EXPECT_EQ(table->rejected[2].line, 4U);
}

TEST(PairTable, RejectsOtherTables) {
  const std::string path = ::testing::TempDir() + "/other.csv";
  std::ofstream(path) << "a,b\n1,2\n";
  const Result<PairTable> table = ReadPairs(std::vector{path});
  ASSERT_FALSE(table);
  EXPECT_NE(table.error().message().find("column gpu is missing"), std::string::npos);
}

}  // namespace
}  // namespace orrery::overlap
