#include <cstdint>
#include <map>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/learn/data_set.h"

namespace orrery::learn {
namespace {

using testing::ElementsAre;

// Row i measures shape i / 2 (so two rows are duplicates) on one of three GPUs.
DataSet MakeDuplicates(RowIndex num_rows) {
  DataSet data({"size"}, {"shape", "gpu"});
  for (RowIndex row = 0; row < num_rows; ++row) {
    const auto size = static_cast<float>(row / 2 % 10);
    data.Append({.features = {&size, 1},
                 .groups = {fmt::format("shape {}", row / 2), fmt::format("gpu {}", row % 3)}});
  }
  return data;
}

std::map<RowIndex, char> PartOfRow(const Split& split) {
  std::map<RowIndex, char> part_of_row;
  const auto add = [&](const std::vector<RowIndex>& rows, char part) {
    for (const RowIndex row : rows) {
      RC_ASSERT(part_of_row.emplace(row, part).second);
    }
  };
  add(split.train, 'r');
  add(split.validation, 'v');
  add(split.test, 't');
  return part_of_row;
}

RC_GTEST_PROP(Split, EveryRowIsInOnePartTogetherWithItsDuplicate, ()) {
  const DataSet data = MakeDuplicates(2 * *rc::gen::inRange<RowIndex>(0, 200));
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  auto part_of_row = PartOfRow(SplitAtRandom(data, {.seed = seed}, 0.3));
  RC_ASSERT(part_of_row.size() == data.num_rows());
  for (RowIndex row = 0; row < data.num_rows(); row += 2) {
    RC_ASSERT(part_of_row[row] == part_of_row[row + 1]);
  }
}

// 2,000 shapes: the shares have standard deviations of about 0.01, so 0.05 is five of them.
TEST(Split, MeetsTheSharesOnAverage) {
  const Split split =
      SplitAtRandom(MakeDuplicates(4'000), {.validation_share = 0.1, .seed = 7}, 0.2);
  EXPECT_NEAR(static_cast<double>(split.test.size()) / 4'000, 0.2, 0.05);
  EXPECT_NEAR(static_cast<double>(split.validation.size()) / 4'000, 0.1, 0.05);
}

TEST(Split, TheSameSeedGivesTheSameRowsAndAnotherSeedOthers) {
  const DataSet data = MakeDuplicates(200);
  const Split split = SplitAtRandom(data, {.seed = 1}, 0.2);
  EXPECT_EQ(split.test, SplitAtRandom(data, {.seed = 1}, 0.2).test);
  EXPECT_NE(split.test, SplitAtRandom(data, {.seed = 2}, 0.2).test);
}

// Fixed values: a change of the hash would silently change every published metric.
TEST(Split, StaysWhatItWas) {
  const Split split = SplitAtRandom(MakeDuplicates(40), {.seed = 1}, 0.2);
  EXPECT_THAT(split.test, ElementsAre(2, 3, 4, 5, 18, 19, 28, 29, 38, 39));
}

}  // namespace
}  // namespace orrery::learn
