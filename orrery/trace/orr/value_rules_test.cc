#include "orrery/trace/orr/value_rules.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "orrery/trace/trace.h"

namespace orrery::trace::orr {
namespace {

static_assert(NumEnumerators<TrackKind>() == 3);
static_assert(NumEnumerators<CollectiveKind>() ==
              static_cast<std::size_t>(CollectiveKind::kBarrier) + 1);

// Otherwise a new link column would stop the program at its first container.
TEST(ValueRulesTest, EveryLinkColumnNamesATableOfTheTrace) {
  const Trace trace;
  std::set<std::string> tables;
  ForEachTable(trace, [&](const char* name, const auto&) { tables.insert(name); });

  ForEachTable(trace, [&](const char* table_name, const auto& table) {
    ForEachColumn(table, [&]<typename T>(const char* column_name, const std::vector<T>&) {
      if constexpr (std::is_same_v<T, RowId>) {
        EXPECT_TRUE(tables.contains(std::string(LinkTarget(table_name, column_name))))
            << table_name << "." << column_name;
      }
    });
  });
}

TEST(ValueRulesTest, AParentIsARowOfItsOwnTable) {
  EXPECT_EQ(LinkTarget("host_ops", "parent"), "host_ops");
  EXPECT_EQ(LinkTarget("host_ops", "track"), "tracks");
}

}  // namespace
}  // namespace orrery::trace::orr
