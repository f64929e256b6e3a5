#include "orrery/collective/measurement.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/document/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/text/table.h"
#include "orrery/hardware/cluster.h"
#include "orrery/hardware/gpu.h"

namespace orrery::collective {
namespace {

using ::testing::HasSubstr;

Measurements Read(const std::string& csv, const std::string& cluster = "") {
  Measurements data;
  const Status status = AddMeasurements({"x.csv", *ParseCsv(csv), true}, cluster, data);
  EXPECT_TRUE(status.has_value());
  return data;
}

const std::string kTruth =
    "source,collective,gpu,n_gpus,gpus_per_node,intra_node,inter_node,nccl_version,algo_env,dtype,"
    "size_bytes,oop_time_us\n";

TEST(MeasuredCollectives, RowsOfTheTruthTable) {
  const Measurements data = Read(
      kTruth +
      "Echo,all_reduce,A100-SXM4-40GB,16,8,NVLink3,\"Azure ND A100 v4\",,,float,1048576,100.1\n"
      "Echo,all_reduce,A100-SXM4-40GB,1,1,NVLink3,\"Azure ND A100 v4\",,,float,1048576,4\n");
  ASSERT_EQ(data.rows.size(), 1);
  EXPECT_EQ(data.skipped, 1);  // one GPU
  EXPECT_EQ(data.rows[0].cluster, hardware::FindCluster("azure nd a100 v4"));
  EXPECT_EQ(data.rows[0].gpus, 16);
  EXPECT_EQ(data.rows[0].fabric.nodes, 2);
  EXPECT_DOUBLE_EQ(data.rows[0].seconds, 100.1e-6);
  EXPECT_EQ(data.rows[0].line, 2);
}

TEST(MeasuredCollectives, BadRowsAreNamed) {
  const Measurements data = Read(kTruth +
                                 "a,all_reduce,A100,8,8,,,,,float,1024,-3\n"
                                 "a,all_sing,A100,8,8,,,,,float,1024,3\n"
                                 "a,all_reduce,Voodoo2,8,8,,,,,float,1024,3\n"
                                 "a,all_reduce,A100,0,8,,,,,float,1024,3\n");
  ASSERT_EQ(data.rejected.size(), 4);
  EXPECT_EQ(data.rejected[0].line, 2);
  EXPECT_THAT(data.rejected[0].reason, HasSubstr("oop_time_us is not a time above zero"));
  EXPECT_THAT(data.rejected[1].reason, HasSubstr("all_sing"));
  EXPECT_THAT(data.rejected[2].reason, HasSubstr("no machine of the catalogue"));
  EXPECT_THAT(data.rejected[3].reason, HasSubstr("n_gpus is not a number of GPUs"));
}

TEST(MeasuredCollectives, AnUnknownMachineIsTakenForTheLikeliest) {
  const Measurements data = Read(kTruth +
                                 "a,all_reduce,A800-SXM4-80GB,8,8,,,,,float,1024,3\n"
                                 "a,all_reduce,MI250X,8,8,,,,,float,1024,3\n");
  ASSERT_EQ(data.rows.size(), 2);
  EXPECT_EQ(hardware::FindGpu(data.rows[0].cluster->gpu)->generation, "ampere");
  EXPECT_EQ(hardware::FindGpu(data.rows[1].cluster->gpu)->vendor, "amd");
}

TEST(MeasuredCollectives, RowsMayTellTheBandwidthAlone) {
  // All-reduce of 8 GB over 8 GPUs at a bus bandwidth of 400 GB/s: 2 · 7/8 · 8 / 400 s.
  const Measurements data = Read(
      "source,collective,gpu,n_gpus,size_bytes,oop_time_us,oop_busbw_GBps\n"
      "a,all_reduce,H100,8,8000000000,,400\n");
  ASSERT_EQ(data.rows.size(), 1);
  EXPECT_NEAR(data.rows[0].seconds, 0.035, 1e-9);
}

TEST(MeasuredCollectives, AiconfiguratorCountsElements) {
  const Measurements data = Read(
      "framework,version,device,op_name,kernel_source,nccl_dtype,num_gpus,message_size,latency_ms\n"
      "TRTLLM,2.29.2,NVIDIA H200,all_gather,NCCL,half,4,1024,0.0085\n");
  ASSERT_EQ(data.rows.size(), 1);
  EXPECT_EQ(data.rows[0].request.size.count, 2048);
  EXPECT_EQ(data.rows[0].request.kind, CollectiveKind::kAllGather);
  EXPECT_DOUBLE_EQ(data.rows[0].seconds, 8.5e-6);
  EXPECT_EQ(data.rows[0].nccl_version, "2.29.2");
}

TEST(MeasuredCollectives, SizesOfVidurAreBytes) {
  // The fastest row of eight A100: 64 MiB in 0.69 ms are 170 GB/s of 300; twice the bytes would be
  // more than the links carry.
  const Measurements data = Read(
      "source,system,collective,num_workers,devices_per_node,rank,size,min_ms,median_ms\n"
      "vidur,a100_dgx,all_reduce,8,8,0,67108864,0.68,0.69\n");
  ASSERT_EQ(data.rows.size(), 1);
  EXPECT_EQ(data.rows[0].request.size.count, 67108864);
}

TEST(MeasuredCollectives, TheNameOfALogMayTellTheMachine) {
  const Table log = *ParseCsv("test,nranks,size_bytes,oop_time_us\nall_reduce,16,1048576,300\n");
  Measurements data;
  ASSERT_TRUE(AddMeasurements({"logs/aws_p4de_2node.log", log, false}, "", data).has_value());
  ASSERT_EQ(data.rows.size(), 1);
  EXPECT_EQ(data.rows[0].cluster, hardware::FindCluster("p4de"));
  ASSERT_TRUE(AddMeasurements({"run.log", log, false}, "", data).has_value());
  ASSERT_EQ(data.rejected.size(), 1);
  EXPECT_THAT(data.rejected[0].reason, HasSubstr("the machine is unknown"));
}

// A log of A100s says nothing about H100s. H200s have the links of H100s: they count for them.
TEST(MeasuredCollectives, ALogOfOtherGpusIsRefusedForAGivenCluster) {
  const auto add = [](const std::string& gpu, Measurements& data) {
    const Table log =
        *ParseCsv("test,nranks,size_bytes,oop_time_us,gpu\nall_reduce,8,1048576,30," + gpu + "\n");
    return AddMeasurements({"run.log", log, false}, "dgx h100", data);
  };
  Measurements data;
  const Status refused = add("NVIDIA A100-SXM4-80GB", data);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message(),
              HasSubstr("run.log: measured on NVIDIA A100-SXM4-80GB, and the GPUs of --cluster"));
  EXPECT_TRUE(add("NVIDIA H200", data).has_value());
  EXPECT_EQ(data.without_gpu, 0U);
  EXPECT_TRUE(add("", data).has_value());
  EXPECT_EQ(data.without_gpu, 1U);
}

TEST(MeasuredCollectives, OtherTablesAreRejected) {
  Measurements data;
  const Status status = AddMeasurements({"x.csv", *ParseCsv("a,b\n1,2\n"), true}, "", data);
  ASSERT_FALSE(status.has_value());
  EXPECT_THAT(status.error().message(), HasSubstr("x.csv: neither an nccl-tests log nor a table"));
  const Status unknown = AddMeasurements({"x.csv", *ParseCsv(kTruth), true}, "moon base", data);
  ASSERT_FALSE(unknown.has_value());
  EXPECT_THAT(unknown.error().message(), HasSubstr("no cluster is called 'moon base'"));
}

}  // namespace
}  // namespace orrery::collective
