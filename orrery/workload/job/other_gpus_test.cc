
#include <string>

#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/job_file.h"
#include "orrery/workload/job/plan_yaml.h"

namespace orrery::workload {
namespace {

Result<JobFile> Read(const std::string& gpu_of) {
  return ReadJob({.yaml = "model: {hidden: 64, layers: 2, heads: 4, vocabulary: 100}\n"
                          "training: {sequence: 16, global_batch: 16}\n"
                          "cluster: DGX H100\ngpus: 16\ngpu_of: " +
                          gpu_of,
                  .place = "job.yaml",
                  .folder = {}},
                 {});
}

std::string ErrorOf(const std::string& gpu_of) {
  const auto read = Read(gpu_of);
  return read ? "none" : read.error().message();
}

TEST(OtherGpusTest, RanksHaveTheGpuThatIsNamedForThem) {
  const Job job = Read("{8-11: A100-SXM4-80GB, 3: H200, 12-13: a100}").value().job;

  EXPECT_EQ(GpuOfRank(job, 2).name, "H100");
  EXPECT_EQ(GpuOfRank(job, 3).name, "H200");
  EXPECT_EQ(GpuOfRank(job, 13).name, "A100-80GB");
  EXPECT_EQ(GpuOfRank(job, 14).name, "H100");
  const auto counts = GpusOf(job);
  ASSERT_EQ(counts.size(), 3U);
  EXPECT_EQ(counts[0].ranks, 9);
  EXPECT_EQ(counts[1].ranks, 1);
  EXPECT_EQ(counts[2].ranks, 6);
  EXPECT_NE(JobLine(job).find("on 9 H100 and 1 H200 and 6 A100-80GB (DGX H100)"),
            std::string::npos);
}

TEST(OtherGpusTest, TheUsualGpuIsNoOther) {
  EXPECT_TRUE(Read("{8-15: H100}").value().job.other_gpus.empty());
}

TEST(OtherGpusTest, WhatCannotBeIsRefusedWithTheFix) {
  EXPECT_EQ(ErrorOf("{8-16: A100-80GB}"),
            "job.yaml: gpu_of 8-16: there is no rank 16; the job has 16 ranks, counted from 0");
  EXPECT_EQ(ErrorOf("{8-15: A100-80GB, 15: H200}"),
            "job.yaml: gpu_of names rank 15 twice: give each rank one GPU");
  EXPECT_EQ(ErrorOf("{8-15: H1000}"),
            "job.yaml: gpu_of 8-15: gpu 'H1000' is not in the catalogue; the nearest is H100");
  EXPECT_EQ(ErrorOf("{15-8: A100}"),
            "job.yaml: gpu_of '15-8' names no ranks: write 8-15, or 8 for one");
  EXPECT_EQ(ErrorOf("A100"),
            "job.yaml: gpu_of is not a mapping of ranks to GPUs: write it as {8-15: A100-80GB}");
  EXPECT_EQ(
      ErrorOf("{8: MI300X}"),
      "job.yaml: gpu_of 8: MI300X and H100 are of different vendors and have no common library of "
      "collectives: take a GPU of nvidia");
}

}  // namespace
}  // namespace orrery::workload
