#include "orrery/base/string_table.h"

#include <string>

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(StringTableTest, EqualStringsShareAnIdInOrderOfFirstAppearance) {
  StringTable table;

  EXPECT_EQ(table.Intern(""), StringId::kEmpty);
  EXPECT_EQ(table.Intern("b"), StringId{1});
  EXPECT_EQ(table.Intern("a"), StringId{2});
  EXPECT_EQ(table.Intern("b"), StringId{1});
  EXPECT_EQ(table.View(StringId{2}), "a");
  EXPECT_EQ(table.size(), 3U);
}

TEST(StringTableTest, ViewsStayValidWhileTheTableGrows) {
  StringTable table;
  const StringId first = table.Intern("first");
  const std::string_view view = table.View(first);
  for (int i = 0; i < 100'000; ++i) {
    table.Intern("string number " + std::to_string(i));
  }

  EXPECT_EQ(view.data(), table.View(first).data());
  EXPECT_EQ(view, "first");
}

TEST(StringTableTest, AStringLongerThanABlockIsKeptWhole) {
  StringTable table;
  const std::string huge(1'000'000, 'x');

  EXPECT_EQ(table.View(table.Intern(huge)), huge);
  EXPECT_EQ(table.View(table.Intern("after")), "after");
}

TEST(StringTableTest, MergeMapsEveryIdOfTheOtherTable) {
  StringTable here;
  here.Intern("shared");
  StringTable other;
  const StringId own = other.Intern("own");
  const StringId shared = other.Intern("shared");

  const auto mapped = here.Merge(other);

  EXPECT_EQ(mapped[static_cast<std::size_t>(shared)], StringId{1});
  EXPECT_EQ(here.View(mapped[static_cast<std::size_t>(own)]), "own");
  EXPECT_EQ(mapped[0], StringId::kEmpty);
}

}  // namespace
}  // namespace orrery
