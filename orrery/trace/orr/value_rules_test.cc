#include "orrery/trace/orr/value_rules.h"

#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::trace::orr {
namespace {

static_assert(NumEnumerators<TrackKind>() == 3);
static_assert(NumEnumerators<CollectiveKind>() == kNumCollectiveKinds);

// The numbers in files of all versions.
constexpr auto kKindOfNumber = std::to_array<CollectiveKind>(
    {CollectiveKind::kUnknown, CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
     CollectiveKind::kReduceScatter, CollectiveKind::kAllToAll, CollectiveKind::kBroadcast,
     CollectiveKind::kReduce, CollectiveKind::kGather, CollectiveKind::kScatter,
     CollectiveKind::kSend, CollectiveKind::kRecv, CollectiveKind::kSendRecv,
     CollectiveKind::kBarrier});

static_assert([] {
  for (std::size_t number = 0; number < kKindOfNumber.size(); ++number) {
    if (static_cast<std::size_t>(kKindOfNumber[number]) != number) {
      return false;
    }
  }
  return kKindOfNumber.size() == kNumCollectiveKinds;
}());

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
