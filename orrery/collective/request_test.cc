#include "orrery/collective/request.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/data_type.h"
#include "orrery/base/units.h"

namespace orrery::collective {
namespace {

std::string ErrorOf(std::string_view text) {
  const auto request = ParseRequest(text);
  return request ? "no error" : request.error().message();
}

TEST(RequestTest, ReadsKindSizeAndType) {
  EXPECT_EQ(ParseRequest("allreduce 64MiB").value(),
            (Request{.kind = CollectiveKind::kAllReduce, .size = {64 << 20}}));
  EXPECT_EQ(ParseRequest(" all_gather  1GB bf16 ").value(),
            (Request{.kind = CollectiveKind::kAllGather,
                     .size = {1'000'000'000},
                     .element = DataType::kBf16}));
  EXPECT_EQ(ParseRequest("alltoall 4194304").value(),
            (Request{.kind = CollectiveKind::kAllToAll, .size = {4194304}}));
  EXPECT_EQ(
      ParseRequest("ReduceScatter 1.5KiB int8").value(),
      (Request{
          .kind = CollectiveKind::kReduceScatter, .size = {1536}, .element = DataType::kInt8}));
  EXPECT_EQ(ParseRequest("barrier").value().kind, CollectiveKind::kBarrier);
}

TEST(RequestTest, UnitsOf1000And1024) {
  EXPECT_EQ(ParseSize("3KB").value(), Bytes{3000});
  EXPECT_EQ(ParseSize("3KiB").value(), Bytes{3072});
  EXPECT_EQ(ParseSize("2gib").value(), Bytes{2LL << 30});
  EXPECT_EQ(ParseSize("8M").value(), Bytes{8 << 20});
  EXPECT_EQ(ParseSize("0").value(), Bytes{0});
}

TEST(RequestTest, MistakesAreOneSentence) {
  EXPECT_EQ(ErrorOf(""),
            "a collective is a kind and a size, such as 'allreduce 64MiB', not an empty text");
  EXPECT_EQ(ErrorOf("allreduce"), "'allreduce' has no size; add one, such as 'allreduce 64MiB'");
  EXPECT_EQ(ErrorOf("scan 4MB"),
            "'scan' is not a known collective; expected one of all_reduce, all_gather, "
            "reduce_scatter, all_to_all, "
            "broadcast, reduce, send_recv, barrier, bcast, point_to_point");
  EXPECT_EQ(ErrorOf("allreduce 4MB float now"),
            "'allreduce 4MB float now' has more than a kind, a size and a type");
  EXPECT_EQ(ErrorOf("barrier 4"), "'barrier 4' has more than a barrier needs, which is nothing");
  for (const char* size : {"-4", "4XB", "MB", "0.3", "nan", "1e30", "4 MB"}) {
    EXPECT_FALSE(ParseRequest(std::string("allreduce ") + size)) << size;
  }
}

TEST(RequestTest, BusFactors) {
  EXPECT_DOUBLE_EQ(BusFactor(CollectiveKind::kAllReduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(BusFactor(CollectiveKind::kAllGather, 8), 0.875);
  EXPECT_DOUBLE_EQ(BusFactor(CollectiveKind::kReduceScatter, 4), 0.75);
  EXPECT_DOUBLE_EQ(BusFactor(CollectiveKind::kAllToAll, 2), 0.5);
  EXPECT_DOUBLE_EQ(BusFactor(CollectiveKind::kBroadcast, 8), 1);
  EXPECT_DOUBLE_EQ(BusFactor(CollectiveKind::kAllReduce, 1), 0);
}

TEST(RequestTest, NamesAreReadBack) {
  EXPECT_EQ(CollectiveKindName(CollectiveKind::kSendRecv), "send_recv");
  EXPECT_FALSE(SwitchReduces(DataType::kFp8));
  EXPECT_TRUE(SwitchReduces(DataType::kFp16));
}

}  // namespace
}  // namespace orrery::collective
