#include "orrery/collective/nccl/nccl_settings.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/units.h"
#include "orrery/collective/algorithm.h"

namespace orrery::collective {
namespace {

constexpr auto kAllReduce = CollectiveKind::kAllReduce;
constexpr auto kAllGather = CollectiveKind::kAllGather;

NcclSettings Of(std::string_view text) {
  return ParseNcclSettings(text).value();
}

std::string ErrorOf(std::string_view text) {
  const auto settings = ParseNcclSettings(text);
  return settings ? "no error" : settings.error().message();
}

TEST(NcclSettingsTest, NothingSetAllowsAll) {
  const NcclSettings settings = Of("");
  EXPECT_EQ(settings, NcclSettings{});
  EXPECT_TRUE(settings.Allows(kAllReduce, Algorithm::kNvls));
  EXPECT_TRUE(settings.Allows(kAllGather, Protocol::kLl));
  EXPECT_FALSE(settings.Asks(kAllReduce, Algorithm::kRing));
}

TEST(NcclSettingsTest, ListsAndNegations) {
  const NcclSettings settings = Of("NCCL_ALGO=Ring,tree,NCCL_PROTO=^LL128");
  EXPECT_TRUE(settings.Asks(kAllReduce, Algorithm::kRing));
  EXPECT_TRUE(settings.Allows(kAllReduce, Algorithm::kTree));
  EXPECT_FALSE(settings.Allows(kAllReduce, Algorithm::kNvls));
  EXPECT_TRUE(settings.Allows(kAllReduce, Protocol::kLl));
  EXPECT_FALSE(settings.Allows(kAllReduce, Protocol::kLl128));
  EXPECT_EQ(Of("NCCL_ALGO=Ring,tree NCCL_PROTO=^LL128"), settings);
}

TEST(NcclSettingsTest, ACollectiveCanHaveItsOwnList) {
  const NcclSettings settings = Of("NCCL_ALGO=ring;allreduce:tree,nvls;allgather:^pat");
  EXPECT_FALSE(settings.Allows(kAllReduce, Algorithm::kRing));
  EXPECT_TRUE(settings.Allows(kAllReduce, Algorithm::kNvls));
  EXPECT_TRUE(settings.Allows(kAllGather, Algorithm::kNvls));
  EXPECT_FALSE(settings.Allows(kAllGather, Algorithm::kPat));
  EXPECT_FALSE(settings.Allows(CollectiveKind::kBroadcast, Algorithm::kTree));
}

TEST(NcclSettingsTest, Numbers) {
  const NcclSettings settings =
      Of("NCCL_MIN_NCHANNELS=4,NCCL_MAX_NCHANNELS=16,NCCL_BUFFSIZE=8388608,NCCL_NVLS_ENABLE=0");
  EXPECT_EQ(settings.min_channels, 4);
  EXPECT_EQ(settings.max_channels, 16);
  EXPECT_EQ(settings.buffer, Bytes{8388608});
  EXPECT_FALSE(settings.nvls);
}

TEST(NcclSettingsTest, FormsThatTablesUse) {
  EXPECT_EQ(Of("Ring"), Of("NCCL_ALGO=Ring"));
  EXPECT_EQ(Of("NVLS"), Of("NCCL_ALGO=NVLS"));
  EXPECT_EQ(Of("Ring,LL128"), Of("NCCL_ALGO=Ring,NCCL_PROTO=LL128"));
  EXPECT_EQ(Of("Tree Simple"), Of("NCCL_ALGO=Tree NCCL_PROTO=Simple"));
  EXPECT_EQ(Of("NCCL_NVLS_ENABLE=0 (Ring)"), Of("NCCL_NVLS_ENABLE=0"));
}

TEST(NcclSettingsTest, MistakesNameWhatIsKnown) {
  EXPECT_EQ(ErrorOf("NCCL_ALGO=Rings"),
            "'Rings' is not a known algorithm of NCCL; expected one of Tree, Ring, CollnetDirect, "
            "CollnetChain, "
            "NVLS, NVLSTree, PAT");
  EXPECT_EQ(ErrorOf("NCCL_PROTO=LL256"),
            "'LL256' is not a known protocol of NCCL; expected one of LL, LL128, Simple");
  EXPECT_EQ(
      ErrorOf("NCCL_DEBUG=INFO"),
      "'NCCL_DEBUG' is not supported; expected one of NCCL_ALGO, NCCL_PROTO, NCCL_MIN_NCHANNELS, "
      "NCCL_MAX_NCHANNELS, NCCL_BUFFSIZE and NCCL_NVLS_ENABLE");
  EXPECT_EQ(ErrorOf("NCCL_MIN_NCHANNELS=none"),
            "NCCL_MIN_NCHANNELS must be a whole number of at least 1, not 'none'");
  EXPECT_EQ(ErrorOf("NCCL_MIN_NCHANNELS=8,NCCL_MAX_NCHANNELS=4"),
            "NCCL_MIN_NCHANNELS must not exceed NCCL_MAX_NCHANNELS: 8 > 4");
  EXPECT_EQ(ErrorOf("NCCL_PROTO=^LL,LL128,Simple"),
            "'^LL,LL128,Simple' leaves no protocol of NCCL");
  EXPECT_EQ(ErrorOf("NCCL_ALGO="), "'' leaves no algorithm of NCCL");
  EXPECT_FALSE(ParseNcclSettings("NCCL_ALGO=scan:ring"));
}

}  // namespace
}  // namespace orrery::collective
