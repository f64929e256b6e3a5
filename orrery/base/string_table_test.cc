#include "orrery/base/string_table.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

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

std::unique_ptr<char[]> Characters(std::string_view text) {
  auto characters = std::make_unique_for_overwrite<char[]>(text.size());
  std::copy(text.begin(), text.end(), characters.get());
  return characters;
}

// The strings "", "b" and "aa", one after the other.
StringTable BlobTable() {
  return StringTable::FromBlob(Characters("baa"), std::array<std::uint64_t, 3>{0, 1, 2});
}

TEST(StringTableTest, ABlobEqualsTheTableThatInternedItsStrings) {
  StringTable interned;
  interned.Intern("b");
  interned.Intern("aa");

  EXPECT_EQ(BlobTable(), interned);
}

TEST(StringTableTest, ABlobFindsItsStringsAndTakesNewOnes) {
  StringTable table = BlobTable();

  EXPECT_EQ(table.Intern("aa"), StringId{2});
  EXPECT_EQ(table.Intern("new"), StringId{3});
  EXPECT_EQ(table.Find("b"), StringId{1});
  EXPECT_EQ(table.Find("absent"), StringId::kEmpty);
  EXPECT_EQ(table.View(StringId{3}), "new");
}

TEST(StringTableTest, ABlobOfOnlyTheEmptyStringIsAnEmptyTable) {
  StringTable table = StringTable::FromBlob(nullptr, std::array<std::uint64_t, 1>{0});

  EXPECT_EQ(table, StringTable());
  EXPECT_EQ(table.Intern("x"), StringId{1});
}

TEST(StringTableTest, ThreadsMayShareTheFirstLookUpInABlob) {
  const StringTable table = BlobTable();
  std::array<StringId, 4> found{};
  {
    std::vector<std::jthread> threads;
    for (StringId& id : found) {
      threads.emplace_back([&] { id = table.Find("aa"); });
    }
  }

  EXPECT_EQ(found, (std::array{StringId{2}, StringId{2}, StringId{2}, StringId{2}}));
}

TEST(StringTableTest, AMovedTableKeepsItsViews) {
  StringTable table = BlobTable();
  const char* const before = table.View(StringId{2}).data();

  const StringTable moved = std::move(table);

  EXPECT_EQ(moved.View(StringId{2}).data(), before);
  EXPECT_EQ(moved.Find("b"), StringId{1});
}

}  // namespace
}  // namespace orrery
