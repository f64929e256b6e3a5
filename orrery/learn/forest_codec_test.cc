#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <zstd.h>

#include "orrery/learn/boosted_trees.h"
#include "orrery/learn/data_set.h"
#include "orrery/learn/data_test.h"
#include "orrery/learn/forest.h"

namespace orrery::learn {
namespace {

Forest TrainForest(const DataSet& data, const BoostedTreesOptions& options) {
  const std::vector<RowIndex> rows = data.AllRows();
  return TrainBoostedTrees(data, {.train = rows, .validation = {}}, options)->forest;
}

TEST(ForestCodec, ADecodedForestPredictsTheSame) {
  const DataSet data = test_data::MakeCurve({.num_rows = 500});
  const Forest forest = TrainForest(data, {.max_rounds = 20});
  for (const Forest& written : {forest, forest.Rounded(0x1p-14)}) {
    const auto read = DecodeForest(EncodeForest(written));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->Trees(), written.Trees());
    EXPECT_EQ(read->PredictRows(data.features()), written.PredictRows(data.features()));
  }
}

TEST(ForestCodec, AForestWithoutTreesIsItsBase) {
  const auto read = DecodeForest(EncodeForest(*Forest::FromTrees(1.5, 3, {})));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->Predict(std::vector<float>{0, 0, 0}), 1.5);
}

TEST(ForestCodec, EveryCutIsRefused) {
  const DataSet data = test_data::MakeCurve({.num_rows = 50});
  const std::string bytes = EncodeForest(TrainForest(data, {.max_rounds = 2}));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeForest(std::string_view(bytes).substr(0, size))) << size;
  }
}

// The size and the error of a shipped forest: 300 trees of depth 8, 76,000 nodes.
TEST(ForestCodec, ShippedForestsAreSmallAndLoseLittle) {
  const DataSet data = test_data::MakeCurve({.num_rows = 10'000, .num_features = 16, .noise = 0.1});
  const Forest forest =
      TrainForest(data, {.max_rounds = 300, .max_depth = 8, .min_child_weight = 5});
  const Forest rounded = RoundedForShipping(forest);
  const std::vector<double> before = forest.PredictRows(data.features());
  const std::vector<double> after = rounded.PredictRows(data.features());
  EXPECT_LT(test_data::MeanAbsoluteError(after, before), kShippedLeafError);
  for (std::size_t row = 0; row < before.size(); ++row) {
    EXPECT_NEAR(after[row], before[row], 5 * kShippedLeafError);
  }
  const std::string bytes = EncodeForest(rounded);
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size =
      ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), 19);
  RecordProperty("nodes", std::to_string(forest.num_nodes()));
  RecordProperty("bytes", std::to_string(size));
  EXPECT_LT(size, 150'000) << forest.num_nodes();
}

}  // namespace
}  // namespace orrery::learn
