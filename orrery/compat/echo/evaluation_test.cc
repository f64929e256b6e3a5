#include "orrery/compat/echo/evaluation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/document/csv.h"
#include "orrery/base/text/table.h"
#include "orrery/compat/echo/cross_validation.h"
#include "orrery/compat/echo/published.h"
#include "orrery/compat/echo/rows.h"
#include "test_paths.h"

namespace orrery::compat::echo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kFolder = std::string(ORRERY_SHARED) + "/slowdown";

std::string FileText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool HasShared() {
  return std::filesystem::exists(kFolder + "/merged_features.csv");
}

std::vector<KernelRow> SharedRows() {
  return *ReadRows(*ReadCsvFile(kFolder + "/merged_features.csv"));
}

TEST(PairwiseSum, ShortListsAreAddedInOrder) {
  EXPECT_EQ(PairwiseSum(std::vector<double>{}), 0);
  // In order: (1e16 + 1) + 1 stays 1e16, since 1 is half of its last digit and rounds to even.
  EXPECT_EQ(PairwiseSum(std::vector<double>{1e16, 1, 1}), 1e16);
}

// Nine values: eight sums of one value each, paired, then the ninth. (1 + 1) is added as 2 to
// nothing large, then 1e16 + 2 keeps it.
TEST(PairwiseSum, UsesEightPartialSums) {
  EXPECT_EQ(PairwiseSum(std::vector<double>{1, 1, 0, 0, 1e16, 0, 0, 0, 0}), 1e16 + 2);
}

RC_GTEST_PROP(PairwiseSum, IsExactForSmallIntegers, (const std::vector<std::int16_t>& values)) {
  const std::vector<double> numbers(values.begin(), values.end());
  RC_ASSERT(PairwiseSum(numbers) == std::accumulate(numbers.begin(), numbers.end(), 0.0));
}

// The first ten of NumPy: numpy.random.RandomState(42).permutation(10).
TEST(LegacyShuffle, IsNumPysPermutation) {
  EXPECT_THAT(LegacyPermutation(10, 42), ElementsAre(8, 1, 5, 0, 7, 2, 9, 4, 3, 6));
  EXPECT_THAT(LegacyPermutation(1, 42), ElementsAre(0));
  EXPECT_THAT(LegacyPermutation(0, 42), IsEmpty());
}

TEST(LegacyShuffle, SplitsAsScikitLearnDid) {
  if (!HasShared()) {
    GTEST_SKIP() << "needs ../shared/slowdown";
  }
  const Table split = *ReadCsvFile(kFolder + "/split_seed42.csv");
  std::vector<std::uint32_t> test;
  for (std::size_t row = 0; row < split.num_rows(); ++row) {
    if (split.Text(row, "part") == "test") {
      test.push_back(static_cast<std::uint32_t>(*split.Integer(row, "row")));
    }
  }
  const LegacySplit ours = SplitAsScikitLearn(split.num_rows(), 0.2, 42);
  EXPECT_EQ(ours.test, test);
  EXPECT_EQ(ours.train.size(), 495);
}

/// A tree of one split on the time alone, and a leaf.
std::string SmallModel(const std::string& left_children) {
  return R"json({"learner": {"learner_model_param": {"base_score": "5E-1", "num_feature": "8"},
    "gradient_booster": {"model": {"trees": [{"left_children": )json" +
         left_children + R"json(, "right_children": [2, -1, -1], "split_indices": [0, 0, 0],
      "split_conditions": [10, 1, 2], "default_left": [1, 0, 0], "loss_changes": [3, 0, 0]}]}}}})json";
}

TEST(SlowdownModel, GoesLeftBelowTheCondition) {
  const auto model = SlowdownModel::Parse(SmallModel("[1, -1, -1]"));
  ASSERT_TRUE(model.has_value()) << model.error().message();
  EXPECT_EQ(model->Predict({9.5}), 1.5F);
  EXPECT_EQ(model->Predict({10}), 2.5F);
  EXPECT_EQ(model->Predict({NAN}), 1.5F);
  EXPECT_EQ(model->gain_shares()[0], 1);
}

TEST(SlowdownModel, NodesThatFormNoTreeAreRejected) {
  // A cycle, a missing child, a node with two parents, and columns of unequal length.
  for (const std::string left :
       {"[0, -1, -1]", "[7, -1, -1]", "[2, -1, -1]", "[1, -1]", "[1.5, -1, -1]"}) {
    EXPECT_FALSE(SlowdownModel::Parse(SmallModel(left)).has_value()) << left;
  }
  const auto none = SlowdownModel::Parse("{}");
  ASSERT_FALSE(none.has_value());
  EXPECT_THAT(none.error().message(), HasSubstr("XGBoost saved as JSON"));
}

TEST(SlowdownModel, ReproducesThePublishedMetricsExactly) {
  if (!HasShared()) {
    GTEST_SKIP() << "needs ../shared/slowdown";
  }
  const std::vector<KernelRow> rows = SharedRows();
  const auto model = SlowdownModel::Parse(FileText(kFolder + "/xgb_model.json"));
  ASSERT_TRUE(model.has_value()) << model.error().message();
  EXPECT_EQ(model->num_trees(), 100);
  EXPECT_EQ(model->num_nodes(), 10'658);
  std::vector<float> slowdowns;
  for (const KernelRow& row : rows) {
    slowdowns.push_back(model->Predict(row.features));
  }
  const std::vector<PublishedLine> lines = PublishedLines(rows, slowdowns);
  EXPECT_THAT(DifferencesFrom(FileText(kFolder + "/output_metrics.txt"), lines), IsEmpty());
  // Shares of the gain: ground_truth 39.1 %, Memory throughput 36.2 %.
  EXPECT_NEAR(model->gain_shares()[0], 0.391, 0.0005);
  EXPECT_NEAR(model->gain_shares()[2], 0.362, 0.0005);
}

/// With inputs as in training, the model reproduces its training rows.
TEST(SlowdownModel, StandardisedFeaturesReproduceTheTrainingRows) {
  if (!HasShared()) {
    GTEST_SKIP() << "needs ../shared/slowdown";
  }
  const std::vector<KernelRow> rows = SharedRows();
  const auto model = SlowdownModel::Parse(FileText(kFolder + "/xgb_model.json"));
  const LegacySplit split = SplitAsScikitLearn(rows.size(), 0.2, 42);
  const Standardisation standard = Standardisation::Of(rows, split.train);
  double worst = 0;
  for (const std::uint32_t row : split.train) {
    const double error = model->Predict(standard.Apply(rows[row].features)) - rows[row].slowdown;
    worst = std::max(worst, std::abs(error));
  }
  EXPECT_LT(worst, 0.1);  // of slowdowns from -36 to 28
}

TEST(Published, ALineThatDiffersIsNamed) {
  const std::vector<PublishedLine> lines = {{"Our MAE", 1.5}, {"Our MSE", 2}};
  EXPECT_THAT(DifferencesFrom("Our MAE 1.5\r\n\nOur MSE 2\n", lines), IsEmpty());
  EXPECT_THAT(DifferencesFrom("Our MAE 1.5\n", lines),
              ElementsAre("published '', computed 'Our MSE 2'"));
}

KernelRow Row(std::int64_t id, std::string name, double alone, double together, double ratio) {
  return {.id = id,
          .name = std::move(name),
          .alone_ns = alone,
          .together_ns = together,
          .overlap_ratio = ratio,
          .features = {alone}};
}

// Rows 1 and 2 are one span: 0.5 · 100 + 1 · 200 = 250 ns of alone time overlap. Row 4 begins the
// second segment.
TEST(Positions, SpansAndSegmentsComeFromTheRatios) {
  const std::vector<KernelRow> rows = {Row(1, "a", 100, 100, 0), Row(2, "a", 100, 120, 0.5),
                                       Row(3, "b", 200, 300, 1), Row(4, "a", 100, 100, 0),
                                       Row(5, "b", 200, 300, 1)};
  const std::vector<Position> positions = PositionsOf(rows);
  EXPECT_EQ(positions[0].segment, 0);
  EXPECT_EQ(positions[1].segment, 1);
  EXPECT_EQ(positions[3].segment, 1);
  EXPECT_EQ(positions[4].segment, 2);
  EXPECT_EQ(positions[1].rows_of_span, 2);
  EXPECT_EQ(positions[3].rows_of_span, 0);
  EXPECT_EQ(positions[2].span_ns, 250);
  EXPECT_EQ(positions[2].since_ns, 50);
  EXPECT_EQ(positions[2].whole_so_far, 1);
}

// One cell, ratios 1, 1, 4, 4, 4: weights 1, 1, 1/4, 1/4, 1/4; half of 2.75 lies at the second row.
// Predicting 1 costs (0 + 0 + 3 · 3/4) / 5 = 0.45; predicting 4 costs (3 + 3) / 5 = 1.2.
TEST(ShrunkenMedians, TakesTheValueWithTheLeastRelativeError) {
  const Binning binning{.cell_of_row = {{0, 0, 0, 0, 0}}};
  const double four = std::log(4.0);
  const std::vector<double> log_ratios = {0, 0, four, four, four};
  const std::vector<std::uint32_t> train = {0, 1, 2, 3, 4};
  const Form form{.binning = &binning, .prior = 1};
  EXPECT_EQ(ShrunkenMedians({&form, 1}, log_ratios, train).Predict(0), 0);
}

// Rows 3 and 4 have a narrow cell of their own, of ratio 4; the wide cell has three rows of ratio 1
// beside them. A prior of 2 gives the narrow cell 2 / (2 + 2) = 1/2, so 1/4 a row, and the wide one
// 1/2, so 1/10 a row. Weights by alone / together: ratio 1: 3 · 0.1 = 0.3; ratio 4:
// 2 · (0.25 + 0.1) / 4 = 0.175: the answer is 1. A prior of 0.1: narrow 2 / 2.1, 0.476 a row, wide
// 0.048, 0.0095 a row; 0.0286 against 0.243: the answer is 4.
TEST(ShrunkenMedians, FewRowsShrinkTowardsTheWiderCell) {
  const Binning binning{.cell_of_row = {{0, 0, 0, 1, 1}, {0, 0, 0, 0, 0}}};
  const double four = std::log(4.0);
  const std::vector<double> log_ratios = {0, 0, 0, four, four};
  const std::vector<std::uint32_t> train = {0, 1, 2, 3, 4};
  const Form careful{.binning = &binning, .prior = 2};
  const Form bold{.binning = &binning, .prior = 0.1};
  EXPECT_EQ(ShrunkenMedians({&careful, 1}, log_ratios, train).Predict(3), 0);
  EXPECT_EQ(ShrunkenMedians({&bold, 1}, log_ratios, train).Predict(3), four);
}

/// A synthetic pass: kernels of three names, every second group of five rows overlaps
/// communication.
std::vector<KernelRow> SyntheticRows() {
  std::vector<KernelRow> rows;
  for (std::int64_t id = 1; id <= 200; ++id) {
    const bool overlaps = id / 5 % 2 == 1;
    const double alone = 1'000.0 * static_cast<double>(1 + id % 3);
    const double slowdown = overlaps ? 1 + 0.2 * static_cast<double>(id % 3) : 1;
    rows.push_back(Row(id, std::string(1, static_cast<char>('a' + id % 3)), alone, alone * slowdown,
                       overlaps ? 1 : 0));
  }
  return rows;
}

TEST(ClockStep, ATableWithOneClockLosesNothing) {
  std::vector<KernelRow> rows;
  for (std::int64_t id = 1; id <= 300; ++id) {
    rows.push_back(Row(id, "a", 100, 101, 0));
  }
  EXPECT_FALSE(PublicClockStep(rows).Affects(rows[250]));
  for (std::size_t row = 240; row < 267; ++row) {
    rows[row].together_ns = 60;
  }
  const ClockStep step = PublicClockStep(rows);
  EXPECT_TRUE(step.Affects(rows[240]) && step.Affects(rows[266]));
  EXPECT_FALSE(step.Affects(rows[239]) || step.Affects(rows[267]));
}

TEST(CrossValidation, LeavesOutTheClockStepAndRepeatsForAnyNumberOfThreads) {
  const std::vector<KernelRow> rows = SyntheticRows();
  const ClockStep step{.first_id = 11, .last_id = 20};
  const CrossValidation one = CrossValidate(rows, step, {.repeats = 3, .threads = 1});
  const CrossValidation two = CrossValidate(rows, step, {.repeats = 3, .threads = 2});
  EXPECT_EQ(one.rows.size(), 190);
  ASSERT_EQ(one.predictors.size(), PredictorNames().size());
  for (std::size_t predictor = 0; predictor < one.predictors.size(); ++predictor) {
    EXPECT_EQ(one.predictors[predictor].durations_ns, two.predictors[predictor].durations_ns);
  }
}

// Every name has one ratio, so both the per-name median and ours predict it whatever is held out.
TEST(CrossValidation, APassWithoutNoiseIsPredictedExactly) {
  const std::vector<KernelRow> rows = SyntheticRows();
  const CrossValidation validation = CrossValidate(rows, ClockStep{}, {.repeats = 2});
  const std::vector<PredictorSummary> summaries = Summarise(rows, validation);
  EXPECT_NEAR(summaries[0].mape, 0, 1e-9);
  EXPECT_NEAR(summaries[2].mape, 0, 1e-9);
  EXPECT_GT(summaries[3].mape, 5);
  EXPECT_TRUE(summaries[3].from_median.ExcludesEquality());
  EXPECT_FALSE(summaries[2].from_median.ExcludesEquality());
}

/// On the public table: below the per-name median with an interval that
/// excludes equality, below no slowdown, total within 2 %.
TEST(CrossValidation, OursBeatsThePerNameMedianOnThePublicTable) {
  if (!HasShared()) {
    GTEST_SKIP() << "needs ../shared/slowdown";
  }
  const std::vector<KernelRow> rows = SharedRows();
  const CrossValidation validation = CrossValidate(rows, PublicClockStep(rows), {.repeats = 3});
  EXPECT_EQ(validation.rows.size(), 592);
  const std::vector<PredictorSummary> summaries = Summarise(rows, validation);
  EXPECT_LT(summaries[0].from_median.high, 0);
  EXPECT_LT(summaries[0].mape, summaries[3].mape);
  EXPECT_LT(std::abs(summaries[0].total), 2);
}

}  // namespace
}  // namespace orrery::compat::echo
