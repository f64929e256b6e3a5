#include "orrery/learn/data_set.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::learn {
namespace {

using testing::ElementsAre;

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
