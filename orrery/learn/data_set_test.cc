#include "orrery/learn/data_set.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/csv.h"

namespace orrery::learn {
namespace {

using testing::ElementsAre;

constexpr const char* kMeasurements =
    "gpu,m,n,time\n"
    "A100,16,2.5,1.5\n"
    "V100,32,,2.5\n";

TEST(DataSet, TakesTheNamedColumnsOfATable) {
  const auto data = DataSet::FromTable(
      *ParseCsv(kMeasurements),
      {.features = {"n", "m"}, .target = "time", .groups = {"gpu"}, .label = "m"});
  ASSERT_TRUE(data);
  EXPECT_EQ(data->num_rows(), 2);
  EXPECT_THAT(data->Features(0), ElementsAre(2.5F, 16.0F));
  EXPECT_TRUE(std::isnan(data->Features(1)[0]));
  EXPECT_THAT(data->targets(), ElementsAre(1.5, 2.5));
  EXPECT_THAT(data->weights(), ElementsAre(1.0, 1.0));
  EXPECT_EQ(data->Group(1, *data->FindGroup("gpu")), "V100");
  EXPECT_EQ(data->Label(0), "16");
}

TEST(DataSet, NamesTheColumnThatIsMissing) {
  const auto data =
      DataSet::FromTable(*ParseCsv(kMeasurements), {.features = {"k"}, .target = "time"});
  ASSERT_FALSE(data);
  EXPECT_EQ(data.error().message(), "no such column: k");
}

TEST(DataSet, NamesTheRowWithoutTarget) {
  const auto data =
      DataSet::FromTable(*ParseCsv(kMeasurements), {.features = {"m"}, .target = "n"});
  ASSERT_FALSE(data);
  EXPECT_EQ(data.error().message(), "row 2: no number in column n");
}

TEST(DataSet, CopiesTheRowsAskedFor) {
  DataSet data({"x"});
  for (const float x : {1.0F, 2.0F, 3.0F}) {
    data.Append({.features = {&x, 1}, .target = 10.0 * x});
  }
  const std::vector<RowIndex> rows = {2, 0};
  EXPECT_THAT(data.FeaturesOf(rows), ElementsAre(3.0F, 1.0F));
  EXPECT_THAT(data.TargetsOf(rows), ElementsAre(30.0, 10.0));
}

}  // namespace
}  // namespace orrery::learn
