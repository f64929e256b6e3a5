#include "orrery/workload/plan/gradient_buckets.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/file/byte_source.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/models_test.h"
#include "orrery/workload/model/parameters.h"
#include "test_paths.h"

namespace orrery::workload {
namespace {

using testing::ElementsAre;

constexpr std::int64_t kMebi = 1 << 20;

std::vector<Gradient> Gpt2Gradients() {
  const Transformer model = Gpt({.hidden = 768, .layers = 12, .heads = 12, .vocabulary = 50257});
  std::vector<ParameterTensor> tensors = EmbeddingTensors(model, model.vocabulary);
  for (int i = 0; i < 12; ++i) {
    Append(tensors, "", TensorsOf(model.blocks[0].block, model.hidden));
  }
  Append(tensors, "", HeadTensors(model, model.vocabulary, false));
  std::vector<Gradient> gradients;
  for (const ParameterTensor& tensor : tensors) {
    gradients.push_back({.elements = tensor.elements});
  }
  return gradients;
}

std::vector<std::int64_t> Elements(const std::vector<GradientBucket>& buckets) {
  std::vector<std::int64_t> elements;
  for (const GradientBucket& bucket : buckets) {
    elements.push_back(bucket.elements);
  }
  return elements;
}

std::vector<std::vector<std::size_t>> Members(const std::vector<GradientBucket>& buckets) {
  std::vector<std::vector<std::size_t>> members;
  for (const GradientBucket& bucket : buckets) {
    members.push_back(bucket.gradients);
  }
  return members;
}

/// The numbers behind `"bucket_size": ` of the all-reduces of Echo's graph.
std::vector<std::int64_t> RecordedBuckets(const std::string& json) {
  std::vector<std::int64_t> elements;
  const std::string node = "\"ddp_Allreduce\"";
  const std::string key = "\"bucket_size\":";
  for (std::size_t at = json.find(node); at != std::string::npos; at = json.find(node, at + 1)) {
    elements.push_back(std::stoll(json.substr(json.find(key, at) + key.size(), 20)));
  }
  return elements;
}

TEST(GradientBucketsTest, Gpt2InDefinitionOrderHasTheBucketsThatEchoRecorded) {
  const auto buckets =
      DdpBuckets(Gpt2Gradients(), {.cap_bytes = 10 * kMebi, .order = DdpOrder::kDefinition});
  EXPECT_THAT(
      Elements(buckets),
      ElementsAre(2364672, 2953728, 4134144, 2953728, 4134144, 2953728, 4134144, 2953728, 4134144,
                  2953728, 4134144, 2953728, 4134144, 2953728, 4134144, 2953728, 4134144, 2953728,
                  4134144, 2953728, 4134144, 4725504, 4723968, 3149568, 38597376));
}

TEST(GradientBucketsTest, TheRecordedGraphHasOurBuckets) {
  const std::string path = ORRERY_SHARED
      "/workloads/echo/graphs/gpt2/ddp_graph_profiling_bs1_seq512_pytorch_ddp.json.gz";
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << path << " is not here";
  }
  auto file = OpenFile(path);
  ASSERT_TRUE(file);
  const auto json = ReadAll(*Unpack(*std::move(file)));
  ASSERT_TRUE(json);
  const std::vector<std::int64_t> recorded = RecordedBuckets(*json);
  EXPECT_EQ(recorded.size(), 25u);
  EXPECT_EQ(Elements(DdpBuckets(Gpt2Gradients(),
                                {.cap_bytes = 10 * kMebi, .order = DdpOrder::kDefinition})),
            recorded);
}

TEST(GradientBucketsTest, ALargerCapMakesFewerBuckets) {
  const auto buckets = Elements(DdpBuckets(Gpt2Gradients(), {.order = DdpOrder::kDefinition}));
  ASSERT_EQ(buckets.size(), 14u);
  EXPECT_EQ(buckets.front(), 2304);
  EXPECT_THAT(std::vector(buckets.begin() + 1, buckets.end() - 2), testing::Each(7087872));
  EXPECT_EQ(buckets[12], 7873536);
  EXPECT_EQ(buckets.back(), 38597376);
}

TEST(GradientBucketsTest, InReadyOrderTheSmallBucketIsSentFirst) {
  const auto buckets = Elements(DdpBuckets(Gpt2Gradients(), {}));
  ASSERT_EQ(buckets.size(), 13u);
  EXPECT_EQ(buckets.front(), 2361600);
  EXPECT_THAT(std::vector(buckets.begin() + 1, buckets.end() - 1), testing::Each(7087872));
  EXPECT_EQ(buckets.back(), 44111616);
}

// 1,048,576 B fill a bucket at once; 2,048 B wait for the next large one.
TEST(GradientBucketsTest, ABucketClosesWhenItHasReachedItsLimit) {
  std::vector<Gradient> gradients;
  for (int i = 0; i < 3; ++i) {
    gradients.push_back({.elements = 262144});
    gradients.push_back({.elements = 512});
  }
  auto buckets = Members(DdpBuckets(
      gradients, {.first_bytes = kMebi, .cap_bytes = kMebi, .order = DdpOrder::kDefinition}));
  std::ranges::reverse(buckets);
  EXPECT_THAT(buckets,
              ElementsAre(ElementsAre(0), ElementsAre(1, 2), ElementsAre(3, 4), ElementsAre(5)));
}

TEST(GradientBucketsTest, TypesHaveBucketsOfTheirOwnAndSparseOnesGoAlone) {
  const std::vector<Gradient> gradients = {{.elements = 10},
                                           {.elements = 20, .element_bytes = 2, .type = 1},
                                           {.elements = 30},
                                           {.elements = 40, .goes_alone = true},
                                           {.elements = 50, .element_bytes = 2, .type = 1}};
  EXPECT_THAT(Members(DdpBuckets(gradients, {.order = DdpOrder::kDefinition})),
              ElementsAre(ElementsAre(3), ElementsAre(1, 4), ElementsAre(0, 2)));
}

TEST(GradientBucketsTest, MegatronsBucketsGrowWithTheRanks) {
  EXPECT_EQ(MegatronBucketElements(8), 40'000'000);
  EXPECT_EQ(MegatronBucketElements(64), 64'000'000);
  EXPECT_EQ(MegatronBucketElements(384), 384'000'000);
}

// In reverse: 100 begin at 0, 50 at 128 (of 64) and end at 178, which is 100 or more: padded to
// lcm(6, 128) = 384. Then 70 of 384 … 454, padded to 768.
TEST(GradientBucketsTest, ShardedBuffersAlignStartsAndEnds) {
  const std::vector<Gradient> gradients = {{.elements = 70}, {.elements = 50}, {.elements = 100}};
  const auto sharded =
      MegatronBuckets(gradients, {.bucket_elements = 101, .ranks = 6, .is_sharded = true});
  EXPECT_THAT(Members(sharded), ElementsAre(ElementsAre(2, 1), ElementsAre(0)));
  EXPECT_THAT(Elements(sharded), ElementsAre(384, 384));
  const auto padded =
      MegatronBuckets(gradients, {.ranks = 6, .is_sharded = true, .pads_for_bandwidth = true});
  EXPECT_THAT(Elements(padded), ElementsAre(3 * 65536));
  EXPECT_THAT(Elements(MegatronBuckets(gradients, {.ranks = 6})), ElementsAre(220));
}

// Two stages share the embedding: its bucket is one of its own where buckets are scattered.
TEST(GradientBucketsTest, ASharedEmbeddingHasABucketOfItsOwn) {
  const std::vector<Gradient> gradients = {
      {.elements = 128}, {.elements = 256, .goes_alone = true}, {.elements = 128}};
  EXPECT_THAT(Members(MegatronBuckets(gradients, {.ranks = 2, .is_sharded = true})),
              ElementsAre(ElementsAre(2), ElementsAre(1), ElementsAre(0)));
  EXPECT_THAT(Members(MegatronBuckets(gradients, {.ranks = 2})), ElementsAre(ElementsAre(2, 1, 0)));
}

TEST(GradientBucketsTest, FrameworksChooseTheirRule) {
  const std::vector<Gradient> gradients = Gpt2Gradients();
  Framework framework;
  framework.data_overlap = DataOverlap::kBuckets;
  EXPECT_EQ(BucketsOf(gradients, framework, 8, false).size(), 13u);
  // As the others: the last norm and a block up to the weight behind its own first norm.
  framework.first_bucket_bytes = 0;
  EXPECT_EQ(BucketsOf(gradients, framework, 8, false).front().elements, 7087872);
  framework.data_overlap = DataOverlap::kAfterBackward;
  EXPECT_THAT(Elements(BucketsOf(gradients, framework, 8, false)), ElementsAre(124439808));
  framework.least_bucket_elements = 40'000'000;
  framework.scales_bucket_with_ranks = true;
  EXPECT_EQ(BucketsOf(gradients, framework, 8, false).size(), 1u);
  framework.data_overlap = DataOverlap::kBuckets;
  // Blocks of 7,087,872 elements: six and six pass 40 million; eight pass 50 million.
  EXPECT_EQ(BucketsOf(gradients, framework, 8, false).size(), 3u);
  EXPECT_EQ(BucketsOf(gradients, framework, 50, false).size(), 2u);
}

std::vector<Gradient> ArbitraryGradients() {
  std::vector<Gradient> gradients;
  for (const int size : *rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 5000))) {
    gradients.push_back({.elements = size, .type = size % 3, .goes_alone = size % 7 == 0});
  }
  return gradients;
}

RC_GTEST_PROP(GradientBucketsProperty, EveryGradientIsInOneBucket, ()) {
  const std::vector<Gradient> gradients = ArbitraryGradients();
  const DdpLimits limits{.first_bytes = *rc::gen::inRange(1, 9000),
                         .cap_bytes = *rc::gen::inRange(1, 50000),
                         .order = *rc::gen::element(DdpOrder::kReady, DdpOrder::kDefinition)};
  const MegatronBuffer buffer{.bucket_elements = *rc::gen::inRange(0, 9000),
                              .ranks = *rc::gen::inRange(1, 70),
                              .is_sharded = *rc::gen::arbitrary<bool>()};
  for (const auto& buckets : {DdpBuckets(gradients, limits), MegatronBuckets(gradients, buffer)}) {
    std::multiset<std::size_t> seen;
    for (const GradientBucket& bucket : buckets) {
      RC_ASSERT(!bucket.gradients.empty());
      seen.insert(bucket.gradients.begin(), bucket.gradients.end());
    }
    RC_ASSERT(seen.size() == gradients.size());
    RC_ASSERT((std::set(seen.begin(), seen.end()).size()) == gradients.size());
  }
}

}  // namespace
}  // namespace orrery::workload
