#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/analyze/breakdown/communication_parts.h"
#include "orrery/analyze/run_view.h"
#include "orrery/analyze/sample_run_test.h"
#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/trace/trace_set.h"

namespace orrery::analyze {
namespace {

using test_run::Rank;

struct Case {
  std::string description = {};
  std::string ranks = {};
  std::int32_t size = 2;
  CollectiveKind kind = CollectiveKind::kAllReduce;
};

DimensionOf DimensionIn(const Case& of, trace::WorkloadCard card = {}) {
  Rank rank(0);
  const RowId group = rank.Group("7", of.ranks, of.size, of.description);
  rank.Collective({.kind = of.kind, .span = {0, 10}, .group = group});
  trace::TraceSet set;
  set.ranks.push_back(rank.Finish());
  set.card = std::move(card);
  const RunView run = ViewRun(set, {}, {});
  return CollectiveDimensions(run, 0)[0];
}

TEST(DimensionTest, DescriptionsDecideFirst) {
  for (const auto& [description, expected] : std::vector<std::pair<std::string, Dimension>>{
           {"TENSOR_MODEL_PARALLEL_GROUP", Dimension::kTensor},
           {"mesh_tp", Dimension::kTensor},
           {"DATA_PARALLEL_GROUP", Dimension::kData},
           {"mesh_fsdp", Dimension::kData},
           {"mesh_dp_shard", Dimension::kData},
           {"PIPELINE_MODEL_PARALLEL_GROUP", Dimension::kPipeline},
           {"EMBEDDING_GROUP", Dimension::kPipeline},
           {"CONTEXT_PARALLEL_GROUP", Dimension::kContext},
           {"EXPERT_MODEL_PARALLEL_GROUP", Dimension::kExpert},
           {"TENSOR_AND_DATA_PARALLEL_GROUP", Dimension::kJoint}}) {
    const DimensionOf found = DimensionIn({.description = description, .ranks = "[0, 1]"});
    EXPECT_EQ(found.dimension, expected) << description;
    EXPECT_EQ(found.rule, DimensionRule::kDescription) << description;
  }
}

// 16 ranks of tp 2, dp 2, pp 4: tp neighbours, dp at distance 2, pp at distance 4.
TEST(DimensionTest, RanksAgainstTheCardDecideNext) {
  const std::string plan = "model_executor.model_plan_parallelization.";
  const trace::WorkloadCard card{.file = "",
                                 .values = {{"workload.hardware.xpu_spec.total_count", "16"},
                                            {plan + "tp", "2"},
                                            {plan + "dp_shard", "2"},
                                            {plan + "pp", "4"}}};
  EXPECT_EQ(DimensionIn({.ranks = "[0, 1]"}, card).dimension, Dimension::kTensor);
  EXPECT_EQ(DimensionIn({.ranks = "[0, 2]"}, card).dimension, Dimension::kData);
  EXPECT_EQ(DimensionIn({.ranks = "[0, 4, 8, 12]", .size = 4}, card).dimension,
            Dimension::kPipeline);
  EXPECT_EQ(DimensionIn({.ranks = "[0, 4, 8, 12]", .size = 4}, card).rule,
            DimensionRule::kRankPattern);
}

TEST(DimensionTest, TheOperationDecidesLast) {
  EXPECT_EQ(DimensionIn({.ranks = "", .kind = CollectiveKind::kAllToAll}).dimension,
            Dimension::kExpert);
  EXPECT_EQ(DimensionIn({.ranks = "", .kind = CollectiveKind::kSend}).dimension,
            Dimension::kPipeline);
  EXPECT_EQ(DimensionIn({.ranks = ""}).dimension, Dimension::kUnknown);
}

}  // namespace
}  // namespace orrery::analyze
