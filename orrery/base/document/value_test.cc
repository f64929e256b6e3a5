#include "orrery/base/document/value.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(ValueTest, FieldsKeepTheirOrderAndAreReplacedInPlace) {
  Value value = Value::Object();
  value.Set("b", 1).Set("a", "text").Set("b", 2.5);
  ASSERT_EQ(value.fields().size(), 2u);
  EXPECT_EQ(value.fields()[0].first, "b");
  EXPECT_EQ(value.fields()[0].second, Value(2.5));
  EXPECT_EQ(*value.Find("a"), Value("text"));
  EXPECT_EQ(value.Find("c"), nullptr);
}

TEST(ValueTest, OnlyObjectsHaveFields) {
  EXPECT_EQ(Value(3).Find("a"), nullptr);
}

TEST(ValueTest, ListsGrow) {
  Value list = Value::List();
  list.Add(1).Add(Value()).Add(true);
  ASSERT_EQ(list.items().size(), 3u);
  EXPECT_TRUE(list.items()[1].IsNull());
}

}  // namespace
}  // namespace orrery
