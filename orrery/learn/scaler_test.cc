#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/file/byte_cursor.h"
#include "orrery/learn/data_set.h"
#include "orrery/learn/perceptron/perceptron.h"

namespace orrery::learn {
namespace {

using testing::ElementsAre;

// Column a has 1, 3 and nothing: mean 2, deviation 1. Column b is always 5.
DataSet SmallData() {
  DataSet data({"a", "b"});
  const float missing = std::numeric_limits<float>::quiet_NaN();
  for (const float a : {1.0F, 3.0F, missing}) {
    data.Append({.features = std::vector<float>{a, 5}, .target = 0});
  }
  return data;
}

TEST(Scaler, GivesMeanZeroAndDeviationOne) {
  const DataSet data = SmallData();
  const Scaler scaler = Scaler::ForRows(data, data.AllRows());
  std::vector<float> scaled(2);
  scaler.Scale(std::vector<float>{4, 9}, scaled);
  EXPECT_THAT(scaled, ElementsAre(2, 0));
  scaler.Scale(data.Features(2), scaled);
  EXPECT_THAT(scaled, ElementsAre(0, 0));
}

TEST(Scaler, ComesBackFromItsBytes) {
  const DataSet data = SmallData();
  ByteWriter writer;
  Scaler::ForRows(data, data.AllRows()).Write(writer);
  ByteReader reader(writer.bytes());
  const Scaler scaler = Scaler::Read(reader);
  EXPECT_FALSE(reader.failed());
  std::vector<float> scaled(2);
  scaler.Scale(std::vector<float>{4, 9}, scaled);
  EXPECT_THAT(scaled, ElementsAre(2, 0));
}

}  // namespace
}  // namespace orrery::learn
