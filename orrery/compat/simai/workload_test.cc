#include "orrery/compat/simai/workload.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/compat/simai/bus_bandwidth.h"
#include "orrery/trace/problems.h"
#include "test_paths.h"

namespace orrery::compat::simai {
namespace {

const std::string kWorkloads = ORRERY_SHARED "/workloads/";

constexpr std::string_view kTwoLayers =
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 4 pp: 2 vpp: 3 ga: 5 "
    "all_gpus: 16 checkpoints: 0 checkpoint_initiates: 0 pp_comm 4096\n"
    "2\n"
    "grads -1 1 NONE 0 2 NONE 0 3 ALLGATHER_DP_EP 7 100\n"
    "\n"
    "moe   -1 10\tALLTOALL_EP  20 30 REDUCESCATTER 0   40 ALLREDUCE 50 100 \r\n";

std::string ErrorOf(std::string_view text) {
  const auto workload = ParseWorkload(text);
  return workload ? "read" : workload.error().message();
}

TEST(SimaiWorkloadTest, HeaderAndLayersAreRead) {
  const Workload workload = ParseWorkload(kTwoLayers).value();
  EXPECT_FALSE(workload.is_micro);
  EXPECT_EQ(workload.tensor, 2);
  EXPECT_EQ(workload.expert, 4);
  EXPECT_EQ(workload.pipeline, 2);
  EXPECT_EQ(workload.chunks, 3);
  EXPECT_EQ(workload.accumulation, 5);
  EXPECT_EQ(workload.gpus, 16);
  EXPECT_EQ(workload.pipeline_message.count, 4096);
  EXPECT_TRUE(workload.problems.all().empty());

  ASSERT_EQ(workload.layers.size(), 2U);
  const Layer& grads = workload.layers[0];
  EXPECT_EQ(grads.forward, (Pass{1, std::nullopt}));
  EXPECT_EQ(grads.weight_gradient,
            (Pass{3, Collective{CollectiveKind::kAllGather, Group::kExpertData, Bytes{7}}}));
  // Blanks of any number and kind, and a size of nothing, which is not the same as no collective.
  const Layer& moe = workload.layers[1];
  EXPECT_EQ(moe.forward,
            (Pass{10, Collective{CollectiveKind::kAllToAll, Group::kExpert, Bytes{20}}}));
  EXPECT_EQ(moe.input_gradient,
            (Pass{30, Collective{CollectiveKind::kReduceScatter, Group::kTensor, Bytes{0}}}));
  EXPECT_EQ(moe.weight_gradient,
            (Pass{40, Collective{CollectiveKind::kAllReduce, Group::kData, Bytes{50}}}));
  EXPECT_EQ(moe.process_ns, 100);
}

TEST(SimaiWorkloadTest, WhatTheHeaderLeavesOutIsOne) {
  const Workload workload =
      ParseWorkload("MICRO\n1\nm -1 1 NONE 0 1 NONE 0 1 ALLGATHER 4096 1\n").value();
  EXPECT_TRUE(workload.is_micro);
  EXPECT_EQ(workload.tensor, 1);
  EXPECT_EQ(workload.pipeline, 1);
  EXPECT_EQ(workload.accumulation, 1);
  EXPECT_EQ(workload.gpus, 0);
}

TEST(SimaiWorkloadTest, NumbersOfLayersThatDifferAreLosses) {
  const std::string layer = "m -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n";
  const Workload few = ParseWorkload("MICRO\n3\n" + layer).value();
  ASSERT_EQ(few.problems.all().size(), 1U);
  EXPECT_EQ(few.problems.all()[0].what, "layers announced but not there");
  EXPECT_EQ(few.problems.all()[0].count, 2);

  const Workload many = ParseWorkload("MICRO\n1\n" + layer + layer).value();
  EXPECT_EQ(many.layers.size(), 1U);
  ASSERT_EQ(many.problems.all().size(), 1U);
  EXPECT_EQ(many.problems.all()[0].what, "layers beyond the announced number");
  EXPECT_EQ(many.problems.all()[0].first, "line 4");
}

TEST(SimaiWorkloadTest, WhatIsNotModelledIsALoss) {
  const Workload workload =
      ParseWorkload(
          "HYBRID_TRANSFORMER_FWD_IN_BCKWD checkpoints: 2 4 8 checkpoint_initiates: 0 color: 3\n"
          "1\nm -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n")
          .value();
  ASSERT_EQ(workload.problems.all().size(), 2U);
  EXPECT_EQ(workload.problems.all()[0].what, "layers that are computed again are not modelled");
  EXPECT_EQ(workload.problems.all()[1].first, "color");
}

TEST(SimaiWorkloadTest, ErrorsNameTheLineAndTheFix) {
  EXPECT_EQ(ErrorOf(""),
            "line 0: a SimAI workload begins with HYBRID_TRANSFORMER_FWD_IN_BCKWD, "
            "HYBRID_TRANSFORMER or MICRO, not with ''");
  EXPECT_EQ(ErrorOf("MICRO pp:"), "line 1: 'pp:' has no number behind it");
  EXPECT_EQ(ErrorOf("MICRO pp: x\n"),
            "line 1: pp is 'x', and must be a whole number from 1 to 1048576");
  EXPECT_EQ(ErrorOf("MICRO pp: 3 all_gpus: 8\n"),
            "line 1: all_gpus 8 is no multiple of model_parallel_NPU_group 1 times pp 3");
  EXPECT_EQ(ErrorOf("MICRO\n1 2\n"),
            "line 2: the second line gives the number of layers and nothing else");
  EXPECT_EQ(ErrorOf("MICRO\n1\n"), "line 2: no layer follows");
  EXPECT_EQ(ErrorOf("MICRO\n1\nm -1 1\n"), "line 3: 3 fields, and a layer has 12");
  EXPECT_EQ(ErrorOf("MICRO\n1\nm -1 1 NONE 0 1 GOSSIP 4 1 NONE 0 1\n"),
            "line 3: 'GOSSIP' is no collective: NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER, "
            "ALLTOALL or BROADCAST, with _EP or _DP_EP behind it");
  EXPECT_EQ(ErrorOf("MICRO\n1\nm -1 -5 NONE 0 1 NONE 4 1 NONE 0 1\n"),
            "line 3: the forward's time is '-5', and must be a whole number from 0 to "
            "86400000000000");
}

TEST(SimaiWorkloadTest, TheFirstWordTellsTheFormat) {
  EXPECT_TRUE(LooksLikeWorkload(kTwoLayers));
  EXPECT_TRUE(LooksLikeWorkload("MICRO\r\n19"));
  EXPECT_FALSE(LooksLikeWorkload("model: llama"));
  EXPECT_FALSE(LooksLikeWorkload(""));
}

// The counts were taken with a few lines of Python.
TEST(SimaiWorkloadTest, AllSharedFilesAreRead) {
  if (!std::filesystem::exists(kWorkloads)) {
    GTEST_SKIP() << "the shared workloads are not here: " << kWorkloads;
  }
  int files = 0;
  std::size_t layers = 0;
  std::int64_t missing = 0;
  for (const char* folder : {"simai", "aicb/model_workload", "aicb/micro_test"}) {
    for (const auto& entry : std::filesystem::directory_iterator(kWorkloads + folder)) {
      if (entry.path().string().find(".txt") == std::string::npos) {
        continue;
      }
      const auto workload = ReadWorkload(entry.path().string());
      ASSERT_TRUE(workload.has_value()) << workload.error().message();
      ++files;
      layers += workload->layers.size();
      for (const trace::Problem& problem : workload->problems.all()) {
        missing += problem.count;
      }
    }
  }
  EXPECT_EQ(files, 13);
  EXPECT_EQ(layers, 4U * 19 + 92 + 172 + 33 + 33 + 12 + 12 + 76 + 2 + 1789);
  EXPECT_EQ(missing, 839 - 33);  // one file says 839 and has 33
}

}  // namespace
}  // namespace orrery::compat::simai
