#include "orrery/overlap/nsight_compute.h"

#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test_paths.h"

namespace orrery::overlap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string DataFile(const std::string& name) {
  return std::string(ORRERY_TEST_DATA) + "/overlap/" + name;
}

DecimalMark MarkOfAll(std::vector<std::string_view> numbers) {
  return DecimalMarkOf(numbers);
}

TEST(LocalisedNumber, TheFileAsAWholeTellsTheDecimalMark) {
  EXPECT_EQ(MarkOfAll({"34,254", "19.17"}), DecimalMark::kPoint);
  EXPECT_EQ(MarkOfAll({"34.254", "19,17"}), DecimalMark::kComma);
  EXPECT_EQ(MarkOfAll({"1,234,567"}), DecimalMark::kPoint);
  EXPECT_EQ(MarkOfAll({"1.234.567"}), DecimalMark::kComma);
  EXPECT_EQ(MarkOfAll({"26.812,33"}), DecimalMark::kComma);
  EXPECT_EQ(MarkOfAll({"0,585"}), DecimalMark::kComma);
  EXPECT_EQ(MarkOfAll({"34,254", "no data", "(2, 66, 1)"}), DecimalMark::kPoint);
}

TEST(LocalisedNumber, ReadsThousandsOfAllKinds) {
  EXPECT_EQ(ParseLocalised("1,234.5", DecimalMark::kPoint), 1234.5);
  EXPECT_EQ(ParseLocalised("1.234,5", DecimalMark::kComma), 1234.5);
  EXPECT_EQ(ParseLocalised("1 234,5", DecimalMark::kComma), 1234.5);
  EXPECT_EQ(ParseLocalised("1\xe2\x80\xaf"
                           "234,5",
                           DecimalMark::kComma),
            1234.5);
  EXPECT_EQ(ParseLocalised("1'234.5", DecimalMark::kPoint), 1234.5);
  EXPECT_EQ(ParseLocalised("no data", DecimalMark::kPoint), std::nullopt);
  EXPECT_EQ(ParseLocalised("", DecimalMark::kPoint), std::nullopt);
  EXPECT_EQ(ParseLocalised("inf", DecimalMark::kPoint), std::nullopt);
}

// Three kernels of an H200, as Nsight Compute printed them.
TEST(NsightCompute, DetailsAndRawPageSayTheSame) {
  const auto details = ReadNsightCompute(DataFile("ncu_details.csv"));
  const auto raw = ReadNsightCompute(DataFile("ncu_raw.csv"));
  ASSERT_TRUE(details.has_value()) << details.error().message();
  ASSERT_TRUE(raw.has_value()) << raw.error().message();
  ASSERT_EQ(details->kernels.size(), 3);
  ASSERT_EQ(raw->kernels.size(), 3);
  for (std::size_t at = 0; at < 3; ++at) {
    const CountedKernel& a = details->kernels[at];
    const CountedKernel& b = raw->kernels[at];
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.id, b.id);
    EXPECT_EQ(a.grid, b.grid);
    EXPECT_EQ(a.block, b.block);
    EXPECT_EQ(a.shape.blocks, b.shape.blocks);
    EXPECT_EQ(a.shape.registers, b.shape.registers);
    // The details page has two decimals.
    EXPECT_NEAR(a.shape.shared_bytes, b.shape.shared_bytes, 10);
    EXPECT_NEAR(a.duration_us, b.duration_us, 0.006);
    EXPECT_NEAR(a.counters.compute, b.counters.compute, 0.006);
    EXPECT_NEAR(a.counters.memory, b.counters.memory, 0.006);
    EXPECT_NEAR(a.counters.dram, b.counters.dram, 0.006);
    EXPECT_NEAR(a.counters.theoretical_occupancy, b.counters.theoretical_occupancy, 0.006);
  }
}

// From the file by eye: 19.17 us, Memory Throughput 34.53 % (not the 393.52 Gbyte/s of the other
// section), 2 x 66 blocks of 384 threads with 168 registers and 200.89 Kbyte.
TEST(NsightCompute, ReadsTheFirstKernel) {
  const auto counted = ReadNsightCompute(DataFile("ncu_details.csv"));
  ASSERT_TRUE(counted.has_value()) << counted.error().message();
  const CountedKernel& kernel = counted->kernels.front();
  EXPECT_EQ(kernel.name, "nvjet_sm90_qqtst_160x128_128x5_1x2_h_bz_coopA_algo2_TNN");
  EXPECT_DOUBLE_EQ(kernel.duration_us, 19.17);
  EXPECT_DOUBLE_EQ(kernel.counters.memory, 34.53);
  EXPECT_DOUBLE_EQ(kernel.counters.compute, 41.87);
  EXPECT_DOUBLE_EQ(kernel.counters.dram, 8.18);
  EXPECT_DOUBLE_EQ(kernel.counters.l1_hit, 94.02);
  EXPECT_DOUBLE_EQ(kernel.sm_clock_ghz, 1.74);
  EXPECT_THAT(kernel.grid, ElementsAre(2, 66, 1));
  EXPECT_EQ(kernel.shape, (LaunchShape{132, 384, 168, 200'890}));
  EXPECT_THAT(counted->missing, IsEmpty());
}

// The same numbers as a German machine prints them, an older version's units, and no L2 counter.
TEST(NsightCompute, ReadsADecimalCommaAndOlderUnits) {
  const auto counted = ParseNsightCompute(
      R"csv("ID","Kernel Name","Section Name","Metric Name","Metric Unit","Metric Value"
"0","gemm","GPU Speed Of Light","SOL SM","%","41,87"
"0","gemm","GPU Speed Of Light","Duration","msecond","1,5"
"0","gemm","GPU Speed Of Light","Elapsed Cycles","cycle","34.254"
"0","gemm","GPU Speed Of Light","SM Frequency","cycle/usecond","980,5"
"0","gemm","Launch Statistics","Grid Size","","1.320"
"0","gemm","Launch Statistics","Block Size","","384"
"0","gemm","Occupancy","Achieved Occupancy","%","no data"
"1","norm","Launch Statistics","Static Shared Memory Per Block","Kbyte/block","1,02"
"1","norm","Launch Statistics","Dynamic Shared Memory Per Block","byte/block","16"
)csv");
  ASSERT_TRUE(counted.has_value()) << counted.error().message();
  ASSERT_EQ(counted->kernels.size(), 2);
  const CountedKernel& gemm = counted->kernels[0];
  EXPECT_DOUBLE_EQ(gemm.counters.compute, 41.87);
  EXPECT_DOUBLE_EQ(gemm.duration_us, 1'500);
  EXPECT_DOUBLE_EQ(gemm.sm_clock_ghz, 0.9805);
  EXPECT_EQ(gemm.shape.blocks, 1'320);
  EXPECT_TRUE(std::isnan(gemm.counters.achieved_occupancy));
  EXPECT_EQ(counted->kernels[1].shape.shared_bytes, 1'036);
  EXPECT_THAT(counted->missing, ElementsAre("memory_pct", "dram_pct", "l1_hit_pct", "l2_hit_pct",
                                            "achieved_occupancy_pct", "theoretical_occupancy_pct"));
}

TEST(NsightCompute, SaysThatCountersWereRefused) {
  const auto counted = ParseNsightCompute(
      "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU "
      "Performance Counters on the target device 0.\n");
  ASSERT_FALSE(counted.has_value());
  EXPECT_EQ(counted.error().kind(), Error::Kind::kUnsupported);
  EXPECT_THAT(counted.error().message(), HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"));
}

TEST(NsightCompute, OtherTextIsRejectedWithTheFix) {
  for (const std::string_view text : {"", "a,b\n1,2\n", "\"ID\",\"Kernel Name\"\n"}) {
    const auto counted = ParseNsightCompute(text);
    ASSERT_FALSE(counted.has_value()) << text;
    EXPECT_THAT(counted.error().message(), HasSubstr("ncu --csv --page"));
  }
}

}  // namespace
}  // namespace orrery::overlap
