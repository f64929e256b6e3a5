#include "orrery/api/evaluate.h"

#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "orrery/api/fields.h"
#include "orrery/api/fields/documents.h"
#include "orrery/api/predict.h"
#include "orrery/api/session.h"
#include "orrery/base/document/value.h"
#include "test_paths.h"

namespace orrery::api {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;
using testing::SizeIs;

constexpr const char* kGemm = "gemm m=4096 n=4096 k=4096 bf16";
constexpr const char* kCollectives = ORRERY_TEST_DATA "/collectives/made.csv";
constexpr const char* kPairs = ORRERY_TEST_DATA "/../golden/overlap/pairs.files/few.csv";

/// A file that is deleted at the end.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view text)
      : path_(std::filesystem::temp_directory_path() /
              fmt::format("orrery_evaluate_{}.csv", getpid())) {
    std::ofstream(path_) << text;
  }

  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  ~TemporaryFile() { std::filesystem::remove(path_); }

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::vector<std::string> KeysOf(const Value& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.fields()) {
    keys.push_back(key);
  }
  return keys;
}

const Value& At(const Value& data, std::string_view list, std::size_t index) {
  return data.Find(list)->items()[index];
}

// Twice the predicted time, a time that is none, and a GPU that is not known.
TEST(EvaluateTest, ErrorsOfOperatorsAreThoseOfTheirRows) {
  const Session session;
  const auto predicted = PredictKernels(session, {.operators = {kGemm}, .gpu = "H200"});
  ASSERT_TRUE(predicted) << predicted.error().message();
  const TemporaryFile table(
      fmt::format("operator,kernel_us,gpu\n{0},{1},H200\n{0},0,H200\n{0},180,Voodoo2\n", kGemm,
                  2e6 * predicted->kernels.front().time_s));
  const auto result = EvaluateKernels(session, {.paths = {table.path()}});
  ASSERT_TRUE(result) << result.error().message();

  EXPECT_EQ(result->split, "all rows, by the shipped models");
  EXPECT_EQ(result->overall.rows, 1);
  EXPECT_NEAR(result->overall.mape, 50, 1e-6);
  EXPECT_NEAR(result->overall.bias, -50, 1e-6);
  EXPECT_NEAR(result->overall.gmae, 50.04, 1e-6);  // 50 + 0.04
  EXPECT_EQ(result->overall.within_15, 0);
  EXPECT_EQ(result->rejected_rows, 2);
  EXPECT_TRUE(result->is_partial);
  ASSERT_THAT(result->groups, SizeIs(1));
  EXPECT_EQ(result->groups.front().gpu, "H200");
  EXPECT_EQ(result->groups.front().errors.rows, 1);
}

TEST(EvaluateTest, MetricsOfAGroupAreInLineWithItsNames) {
  const auto result = EvaluateCollectives(Session(), {.paths = {kCollectives}});
  ASSERT_TRUE(result) << result.error().message();

  const Value data = MakeDocument(*result).data;
  EXPECT_TRUE(data == ToObject(*result));
  EXPECT_THAT(KeysOf(data), ElementsAre("overall", "groups"));
  EXPECT_THAT(
      KeysOf(At(data, "groups", 0)),
      ElementsAre("source", "machine", "collective", "gpus", "rows", "mape", "gmae", "median",
                  "p95", "r2", "bias", "within_5", "within_10", "within_15", "error_of_sum"));
  EXPECT_EQ(*At(data, "groups", 0).Find("mape"), Value(result->groups.front().errors.mape));
  EXPECT_TRUE(result->is_partial);
  EXPECT_THAT(result->notices, ElementsAre(HasSubstr("2 rows were not used:\n")));
}

TEST(EvaluateTest, AFamilyNamesItsMachines) {
  const auto result = EvaluateAll(Session(), {.kernels = {.paths = {kCollectives}}});
  ASSERT_TRUE(result) << result.error().message();

  ASSERT_THAT(result->families, SizeIs(1));
  EXPECT_THAT(result->families.front().machines, Optional(ElementsAre("Azure ND A100 v4")));
  const Value data = ToObject(*result);
  EXPECT_NE(At(data, "families", 0).Find("machines"), nullptr);
  EXPECT_EQ(At(data, "families", 0).Find("gpus"), nullptr);
}

TEST(EvaluateTest, PairsHaveErrorsByPredictorAndGroup) {
  const auto result = EvaluateOverlap(Session(), {.paths = {kPairs}, .held_out = "none"});
  ASSERT_TRUE(result) << result.error().message();

  EXPECT_EQ(result->delays.waited, 0);
  EXPECT_TRUE(std::isnan(result->delays.median_error));
  const report::Document document = MakeDocument(*result);
  EXPECT_THAT(KeysOf(document.data),
              ElementsAre("judged", "predictors", "as_planned", "communication", "delays",
                          "noise_floor", "groups", "importance"));
  EXPECT_EQ(At(document.data, "predictors", 0).fields().front().first, "name");
  EXPECT_EQ(At(document.data, "predictors", 0).fields().back().first, "r2_of_stretch");
  ASSERT_THAT(document.sheets, SizeIs(1));
  EXPECT_EQ(document.sheets.front().second.num_rows(), 2U);
}

// Tables for people are the lists of the result, also by their keys in CSV.
TEST(EvaluateTest, TablesOfJitterAreThoseOfItsResult) {
  const EvaluateJitterResult result{
      .groups = {{.system = "one/of", .benchmark = "bert", .gpu = "H100", .gpus = 8, .ks = 0.1}},
      .scales = {{.gpu = "H100", .gpus = "to 8", .groups = 1, .p99 = 0.02}}};
  const report::Document document = MakeDocument(result);

  std::vector<std::string> found;
  for (const report::Document::Block& block : document.sections.front().blocks) {
    if (const auto* const table = std::get_if<report::Document::Table>(&block)) {
      EXPECT_EQ(RowsOf(*table), document.data.Find(table->key)->items());
      found.push_back(table->key);
    }
  }
  EXPECT_THAT(found, ElementsAre("groups", "scales"));
}

TEST(EvaluateTest, MistakesAreNamed) {
  const Session session;
  EXPECT_THAT(EvaluateKernels(session, {.paths = {"absent.csv"}}).error().message(),
              HasSubstr("absent.csv: cannot open"));
  EXPECT_THAT(
      EvaluateKernels(session, {.paths = {"absent.csv"}, .split = "halves"}).error().message(),
      HasSubstr("'halves' is not a split"));
  EXPECT_THAT(
      EvaluateCollectives(session, {.paths = {kCollectives}, .split = "thirds"}).error().message(),
      HasSubstr("'thirds' is not a split"));
  EXPECT_THAT(EvaluateAll(session, {}).error().message(), HasSubstr("name tables"));
  EXPECT_THAT(EvaluateOverlap(session, {}).error().message(), HasSubstr("nothing to evaluate"));
  EXPECT_THAT(EvaluateOverlap(session, {.paths = {kPairs}, .held_out = "moon"}).error().message(),
              HasSubstr("moon"));
  EXPECT_THAT(EvaluateEcho(session, {.folder = "absent", .repeats = 0}).error().message(),
              HasSubstr("at least one"));
  EXPECT_THAT(EvaluateJitter(session, {.path = "absent.csv"}).error().message(),
              HasSubstr("absent.csv"));
}

}  // namespace
}  // namespace orrery::api
