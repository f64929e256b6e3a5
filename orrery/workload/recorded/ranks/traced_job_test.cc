#include "orrery/workload/recorded/ranks/traced_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/data_type.h"

namespace orrery::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(TracedJobTest, RanksAndRangesAreRead) {
  EXPECT_THAT(*ParseRanks("0-2,7", 8), ElementsAre(0, 1, 2, 7));
  EXPECT_THAT(*ParseRanks("5", 8), ElementsAre(5));
  for (const char* const wrong : {"", "a", "3-1", "8", "1,", "1-", "-1", "0-8"}) {
    EXPECT_FALSE(ParseRanks(wrong, 8)) << wrong;
  }
}

TEST(TracedJobTest, TheJobIsReadAndUnknownKeysAreLeftAlone) {
  const auto job =
      ParseTracedJob(R"json({"format": "orrery trace", "version": 1, "name": "m", "new": {},
      "device": {"name": "NVIDIA H200"}, "world": 4, "plan": {"kind": "fsdp2", "sharding": "full",
      "microbatches": 2, "mesh": [{"name": "dp", "size": 4, "stride": 1}]},
      "training": {"micro_batch": 3, "sequence": 1024, "accumulation": 5},
      "model": {"parameters": 100, "layers": 8, "traced_layers": 4, "layer_parameters": 10},
      "ranks": [{"rank": 0, "folder": "rank-0", "stands_for": "0-3"}], "remarks": ["One."]})json");

  ASSERT_TRUE(job) << job.error().message();
  EXPECT_EQ(job->gpu, "NVIDIA H200");
  EXPECT_EQ(job->world, 4);
  EXPECT_TRUE(job->is_sharded);
  EXPECT_EQ(job->microbatches, 2);
  EXPECT_THAT(job->mesh, ElementsAre(MeshDimension{"dp", 4, 1}));
  EXPECT_EQ(job->sequence, 1024);
  EXPECT_EQ(job->traced_layers, 4);
  ASSERT_EQ(job->ranks.size(), 1);
  EXPECT_THAT(job->ranks[0].stands_for, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(job->remarks, ElementsAre("One."));
}

// Eight ranks of two stages: four data-parallel ones, each with two micro-batches of three samples,
// five times; twice as many ranks read twice as much.
TEST(TracedJobTest, ReplicasReadSamplesOfTheirOwn) {
  TracedJob job;
  job.world = 8;
  job.mesh = {{"pp", 2, 4}, {"dp_replicate", 2, 2}, {"dp_shard", 2, 1}};
  job.micro_batch = 3;
  job.microbatches = 2;
  job.accumulation = 5;

  EXPECT_EQ(SamplesOfStep(job, 8), 4 * 2 * 3 * 5);
  EXPECT_EQ(SamplesOfStep(job, 16), 8 * 2 * 3 * 5);
  job.mesh.clear();
  EXPECT_EQ(SamplesOfStep(job, 8), 0);
}

TEST(TracedJobTest, WhatIsNoTracedJobIsSaid) {
  EXPECT_THAT(ParseTracedJob("[]").error().message(), HasSubstr("not a JSON object"));
  EXPECT_THAT(ParseTracedJob("{}").error().message(), HasSubstr("'format'"));
  EXPECT_THAT(
      ParseTracedJob(R"json({"format": "orrery trace", "version": 2})json").error().message(),
      HasSubstr("version 2"));
  EXPECT_THAT(
      ParseTracedJob(R"json({"format": "orrery trace", "version": 1})json").error().message(),
      HasSubstr("'world'"));
}

TEST(TracedJobTest, StepsAreRead) {
  const auto steps = ParseTracedSteps(R"json({"complete": false, "why": "it crashed",
      "without_profiler": {"step_ms": [30.1, 29.9], "issue_ms": [28.0]}, "peak_reserved_bytes": 7})json");

  ASSERT_TRUE(steps);
  EXPECT_FALSE(steps->is_complete);
  EXPECT_EQ(steps->why, "it crashed");
  EXPECT_THAT(steps->step_ms, ElementsAre(30.1, 29.9));
  EXPECT_THAT(steps->issue_ms, ElementsAre(28.0));
  EXPECT_THAT(steps->alone_ms, ElementsAre());
  EXPECT_EQ(steps->peak_reserved_bytes, 7);
}

TEST(TracedJobTest, CollectivesAreRead) {
  const auto read = ParseTracedCollectives(
      R"json({"groups": [{"name": "0", "description": "default_pg", "ranks": "0-3"}],
              "collectives": [{"kind": "all_gather", "group": "0", "bytes": 12, "element": "bf16"},
                              {"kind": "send", "group": "0", "bytes": 4, "element": "fp32", "peer": 2}]})json",
      4);

  ASSERT_TRUE(read) << read.error().message();
  ASSERT_EQ(read->communications.size(), 2);
  EXPECT_EQ(read->communications[0],
            (TracedCommunication{
                .kind = CollectiveKind::kAllGather, .bytes = 12, .element = DataType::kBf16}));
  EXPECT_EQ(read->communications[1].form, TracedCommunicationKind::kSend);
  EXPECT_EQ(read->communications[1].peer, 2);
}

TEST(TracedJobTest, ABadCollectiveIsNamed) {
  const auto read = ParseTracedCollectives(
      R"json({"groups": [{"name": "0", "ranks": "0-3"}],
              "collectives": [{"kind": "barrier", "group": "0", "bytes": 0},
                              {"kind": "all_reduce", "group": "7", "bytes": 4}]})json",
      4);

  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message(), "collective 1: group '7' is not among the groups of the file");
}

}  // namespace
}  // namespace orrery::workload
