#include "orrery/kernel/measured/measurement.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/document/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_sink.h"
#include "orrery/base/text/table.h"

namespace orrery::kernel {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kHead = "operator,kernel_us,gpu\n";

Measurements Read(const std::string& csv) {
  const Result<Table> table = ParseCsv(csv);
  EXPECT_TRUE(table.has_value());
  Result<Measurements> read = MeasurementsOf(*table, "table.csv");
  EXPECT_TRUE(read.has_value());
  return *std::move(read);
}

/// Returns the reason for rejecting one row of our layout; empty if it is accepted.
std::string Refusal(std::string_view op, std::string_view time_us, std::string_view gpu) {
  const Measurements read = Read(fmt::format("{}{},{},{}\n", kHead, op, time_us, gpu));
  return read.rejected.empty() ? "" : read.rejected.front().reason;
}

TEST(Measurements, RowsKnowWhereTheyStand) {
  const Measurements read = Read(std::string(kHead) +
                                 "fill n=1000 bf16,2,NVIDIA H200\n"
                                 "fill n=1000 bf16,0,NVIDIA H200\n"
                                 "fill n=2000 bf16,2.5,NVIDIA H200\n");
  ASSERT_EQ(read.rows.size(), 2);
  EXPECT_EQ(read.rows[0].line, 2);
  EXPECT_EQ(read.rows[1].line, 4);
  EXPECT_EQ(read.rows[1].gpu->name, "H200");
  EXPECT_EQ(read.rows[1].timing, Timing::kKernels);
  EXPECT_DOUBLE_EQ(read.rows[1].seconds, 2.5e-6);
  ASSERT_EQ(read.rejected.size(), 1);
  EXPECT_EQ(read.rejected[0].line, 3);
  EXPECT_THAT(read.files, ElementsAre("table.csv"));
}

TEST(Measurements, ATimeMustBeAboveZero) {
  const std::string_view op = "fill n=1000 bf16";
  EXPECT_EQ(Refusal(op, "2", "H200"), "");
  EXPECT_EQ(Refusal(op, "0", "H200"), "kernel_us is not a time above zero");
  EXPECT_EQ(Refusal(op, "-2", "H200"), "kernel_us is not a time above zero");
  EXPECT_EQ(Refusal(op, "", "H200"), "kernel_us is not a time above zero");
  EXPECT_EQ(Refusal(op, "fast", "H200"), "kernel_us is not a time above zero");
  EXPECT_EQ(Refusal(op, "nan", "H200"), "kernel_us is not a time above zero");
  EXPECT_EQ(Refusal(op, "inf", "H200"), "kernel_us is not a time above zero");
}

TEST(Measurements, AnUnknownGpuOrOperatorIsNamed) {
  EXPECT_EQ(Refusal("fill n=1000 bf16", "2", "Voodoo2"),
            "the GPU 'Voodoo2' is not in the catalogue");
  EXPECT_THAT(Refusal("fil n=1000 bf16", "2", "H200"), HasSubstr("unknown operator 'fil'"));
  EXPECT_EQ(Refusal("fill bf16", "2", "H200"), "fill needs n=");
}

TEST(Measurements, ATimeThatIsOffByAThousandIsDoubted) {
  // 139 µs at the peak of an H200: 180 µs are fine, 0.18 µs and 180 ms are not.
  const std::string_view op = "gemm m=4096 n=4096 k=4096 bf16";
  EXPECT_EQ(Refusal(op, "180", "H200"), "");
  EXPECT_EQ(Refusal(op, "0.18", "H200"),
            "1.8e-07 s is less than any kernel takes; is the unit right?");
  EXPECT_EQ(Refusal("gemm m=8192 n=8192 k=8192 bf16", "1.4", "H200"),
            "1.4e-06 s is faster than a H200 can be (0.00111 s); is the unit right?");
  EXPECT_EQ(Refusal(op, "180000", "H200"),
            "0.18 s is 1296 times what a H200 needs at least; is the unit right?");
}

TEST(Measurements, ASlowConvolutionIsBelieved) {
  // Measured: 6.9 ms where a launch and 1.3 µs would do, and 0.42 s in 40,000 transforms.
  const std::string grouped =
      "conv b=4 c=64 oc=128 h=32 w=32 kh=1 kw=1 groups=32 nhwc=1 pass=bwd fp32";
  EXPECT_EQ(Refusal(grouped, "6863", "H200"), "");
  EXPECT_NE(Refusal(grouped, "68630", "H200"), "");
  EXPECT_EQ(Refusal("conv1d b=4 c=1016 oc=64 w=63 kw=3 pad=1 fp32", "420561", "H200"), "");
}

TEST(Measurements, AShortTimeThatIsOffByAThousandIsDoubtedToo) {
  // A launch and 6 MB at 4.8 TB/s: 3 µs are fine, 3 ns and 3.2 ms (500 · 6.25 µs are 3.1) are not.
  const std::string_view op = "elementwise n=1000000 bf16";
  EXPECT_EQ(Refusal(op, "3", "H200"), "");
  EXPECT_NE(Refusal(op, "0.003", "H200"), "");
  EXPECT_NE(Refusal(op, "3200", "H200"), "");
  // With the host in it, 40 ms may be real.
  const Measurements eager = Read("OPName,B,H,Latency,Device\nsoftmax,4,8,40,T4\n");
  EXPECT_EQ(eager.rows.size(), 1);
}

TEST(Measurements, ABadCellCostsItsOwnRowOnly) {
  const Measurements read = Read(std::string(kHead) +
                                 "fill n=1000 bf16,oops,H200\n"
                                 "fill n=2000 bf16,2.5,H200\n");
  ASSERT_EQ(read.rows.size(), 1);
  EXPECT_EQ(read.rows[0].line, 3);
  ASSERT_EQ(read.rejected.size(), 1);
  EXPECT_EQ(read.rejected[0].line, 2);
}

TEST(Measurements, FilesAreReadInOrder) {
  const std::string folder = testing::TempDir();
  const std::vector<std::string> paths = {folder + "measured_one.csv", folder + "measured_two.csv"};
  ASSERT_TRUE(WriteFile(paths[0], std::string(kHead) + "fill n=1000 bf16,2,H200\n"));
  ASSERT_TRUE(WriteFile(paths[1], "OPName,B,H,Latency,Device\nsoftmax,4,8,0.02,T4\n"));
  const Result<Measurements> read = ReadMeasurements(paths);
  for (const std::string& path : paths) {
    std::filesystem::remove(path);
  }
  ASSERT_TRUE(read.has_value());
  ASSERT_EQ(read->rows.size(), 2);
  EXPECT_EQ(read->rows[1].file, 1);
  EXPECT_EQ(read->rows[1].timing, Timing::kEager);
  EXPECT_THAT(read->rejected, IsEmpty());
}

TEST(Measurements, TablesWithWattsAndHostClocksAreSustained) {
  const std::string gemm = "gemm_dtype,m,n,k,latency_ms,device";
  EXPECT_FALSE(Read(gemm + "\nbfloat16,64,64,64,0.01,H200\n").rows[0].is_sustained);
  EXPECT_TRUE(Read(gemm + ",power_w\nbfloat16,64,64,64,0.01,H200,500\n").rows[0].is_sustained);
  EXPECT_TRUE(Read("gpu,op,phase,dtype,m,n,k,batch,time_us,how\n"
                   "B200,gemm,fwd,bf16,64,64,64,1,5,\"in a loop, host clock\"\n")
                  .rows[0]
                  .is_sustained);
  EXPECT_TRUE(Read("operator,burst_us,sustained_us,gpu\n"
                   "gemm m=64 n=64 k=64 bf16,4,5,H200\n")
                  .rows[0]
                  .is_sustained);
}

// 200 rows of each type: bf16 of 3 µs, fp8 of 80 µs and more whatever the size.
TEST(Measurements, ATypeThatWasTimedByTheHostIsRejected) {
  std::string csv = "gemm_dtype,m,n,k,latency_ms,device\n";
  for (int m = 1; m <= 200; ++m) {
    csv += fmt::format("bfloat16,{},64,64,0.003,H200\nfp8_block,{},64,64,0.08,H200\n", m, m);
  }
  const Measurements read = Read(csv);

  EXPECT_EQ(read.rows.size(), 200);
  ASSERT_EQ(read.rejected.size(), 200);
  EXPECT_THAT(read.rejected[0].reason,
              HasSubstr("fp8_block is host-bound in this table: no row below 80 µs"));
}

TEST(Measurements, AFallbackThatIsSlowerThanALargerHeadIsRejected) {
  const Measurements read = Read(
      "batch_size,isl,num_heads,num_key_value_heads,head_dim,latency_ms,device\n"
      "1,1024,8,8,128,0.05,B200\n1,1024,8,8,192,0.9,B200\n1,1024,8,8,256,0.1,B200\n");

  ASSERT_EQ(read.rows.size(), 2);
  ASSERT_EQ(read.rejected.size(), 1);
  EXPECT_EQ(read.rejected[0].line, 3);
  EXPECT_THAT(read.rejected[0].reason, HasSubstr("a fallback"));
}

// Of 30 shapes with heads of 192 ten take nine times as long as with heads of 256; the others are
// as short as a launch.
TEST(Measurements, ASizeThatFallsBackIsRejectedWhereLaunchesHideItToo) {
  std::string csv = "batch_size,isl,num_heads,num_key_value_heads,head_dim,latency_ms,device\n";
  for (int i = 1; i <= 30; ++i) {
    csv += fmt::format("1,{},8,8,192,{},B200\n1,{},8,8,256,0.01,B200\n", 64 * i,
                       i <= 10 ? 0.09 : 0.02, 64 * i);
  }
  const Measurements read = Read(csv);

  EXPECT_EQ(read.rows.size(), 30);
  EXPECT_EQ(read.rejected.size(), 30);
}

// One of 30 is an outlier.
TEST(Measurements, OneSlowRowCondemnsNoSize) {
  std::string csv = "batch_size,isl,num_heads,num_key_value_heads,head_dim,latency_ms,device\n";
  for (int i = 1; i <= 30; ++i) {
    csv += fmt::format("1,{},8,8,192,{},B200\n1,{},8,8,256,0.01,B200\n", 64 * i,
                       i <= 1 ? 0.09 : 0.02, 64 * i);
  }
  EXPECT_EQ(Read(csv).rejected.size(), 1);
}

TEST(Measurements, OfSeveralLibrariesTheFastestCounts) {
  std::vector<Measurement> rows = Read(
                                      "gemm_dtype,m,n,k,latency_ms,device\n"
                                      "bfloat16,64,64,64,0.012,H200\n"
                                      "bfloat16,64,64,64,0.010,H200\n"
                                      "bfloat16,64,64,64,0.009,H100\n"
                                      "bfloat16,128,64,64,0.020,H200\n")
                                      .rows;
  KeepFastest(rows);

  ASSERT_EQ(rows.size(), 3);
  EXPECT_DOUBLE_EQ(rows[0].seconds, 10e-6);
  EXPECT_EQ(rows[1].gpu->name, "H100");
}

TEST(Measurements, AnErrorNamesTheFile) {
  const Result<Table> table = ParseCsv("a,b\n1,2\n");
  const Result<Measurements> read = MeasurementsOf(*table, "table.csv");
  ASSERT_FALSE(read.has_value());
  EXPECT_THAT(read.error().message(), testing::StartsWith("table.csv: unknown table"));
}

}  // namespace
}  // namespace orrery::kernel
