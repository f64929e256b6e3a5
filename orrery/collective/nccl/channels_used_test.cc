#include <cstdint>

#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/units.h"
#include "orrery/collective/algorithm.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/nccl/nccl_settings.h"
#include "orrery/hardware/cluster.h"

namespace orrery::collective {
namespace {

constexpr std::int64_t kKibibyte = 1 << 10;
constexpr std::int64_t kMebibyte = 1 << 20;

Fabric DgxA100() {
  return FabricOf(*hardware::FindCluster("DGX A100"), {.gpus = 8}).value();
}

ChannelsUsed Used(std::int64_t bytes, Algorithm algorithm, Protocol protocol,
                  const NcclSettings& settings = {}) {
  return ChannelsFor(DgxA100(), {.size = {bytes}}, algorithm, protocol, settings);
}

TEST(ChannelsUsedTest, LargeSizesUseAllChannels) {
  EXPECT_EQ(Used(64 * kMebibyte, Algorithm::kRing, Protocol::kSimple),
            (ChannelsUsed{.channels = 24, .threads = 544}));
  EXPECT_EQ(Used(64 * kMebibyte, Algorithm::kRing, Protocol::kLl128),
            (ChannelsUsed{.channels = 24, .threads = 640}));
  EXPECT_EQ(Used(64 * kMebibyte, Algorithm::kTree, Protocol::kSimple),
            (ChannelsUsed{.channels = 24, .threads = 640}));
}

// LL in a ring of 8: 64 bytes a thread, 32 KiB a channel of 512 threads. 256 KiB feed 8 channels.
// 8 KiB feed a quarter of one: threads go down to 128. 1 KiB stops at 64, and three warps are the
// least.
TEST(ChannelsUsedTest, SmallSizesUseFewerChannelsThenFewerThreads) {
  EXPECT_EQ(Used(256 * kKibibyte, Algorithm::kRing, Protocol::kLl),
            (ChannelsUsed{.channels = 8, .threads = 512}));
  EXPECT_EQ(Used(8 * kKibibyte, Algorithm::kRing, Protocol::kLl),
            (ChannelsUsed{.channels = 1, .threads = 128}));
  EXPECT_EQ(Used(kKibibyte, Algorithm::kRing, Protocol::kLl),
            (ChannelsUsed{.channels = 1, .threads = 96}));
}

TEST(ChannelsUsedTest, SettingsBoundTheChannels) {
  EXPECT_EQ(Used(64 * kMebibyte, Algorithm::kRing, Protocol::kSimple, {.max_channels = 4}).channels,
            4);
  EXPECT_EQ(
      Used(64 * kMebibyte, Algorithm::kRing, Protocol::kSimple, {.min_channels = 32}).channels, 32);
}

TEST(ChannelsUsedTest, SwitchReductionHasItsOwnChannels) {
  const auto nvls = [](std::string_view cluster, int gpus) {
    const Fabric fabric = FabricOf(*hardware::FindCluster(cluster), {.gpus = gpus}).value();
    return ChannelsFor(fabric, {.size = {kMebibyte}}, Algorithm::kNvls, Protocol::kSimple, {});
  };
  EXPECT_EQ(nvls("DGX H100", 8), (ChannelsUsed{.channels = 16, .threads = 640}));
  EXPECT_EQ(nvls("DGX B200", 8).channels, 24);
  EXPECT_EQ(nvls("DGX B200", 16).channels, 32);
}

// A message has two channels over the network, four inside a node, and fewer if it is short: each
// of the 512 threads of a channel has at least 64 bytes.
TEST(ChannelsUsedTest, MessagesUseFewChannels) {
  const auto channels = [](int gpus, std::int64_t bytes) {
    const Fabric fabric =
        FabricOf(*hardware::FindCluster("DGX H100"), {.gpus = gpus, .gpus_per_node = gpus / 2})
            .value();
    return ChannelsFor(fabric, {.kind = CollectiveKind::kSendRecv, .size = {bytes}},
                       Algorithm::kDirect, Protocol::kSimple, {})
        .channels;
  };
  EXPECT_EQ(channels(2, 16 * kMebibyte), 2);  // one GPU of each of two nodes
  const Fabric node = FabricOf(*hardware::FindCluster("DGX H100"), {.gpus = 2}).value();
  const auto inside = [&](std::int64_t bytes) {
    return ChannelsFor(node, {.kind = CollectiveKind::kSendRecv, .size = {bytes}},
                       Algorithm::kDirect, Protocol::kSimple, {})
        .channels;
  };
  EXPECT_EQ(inside(16 * kMebibyte), 4);
  EXPECT_EQ(inside(32 * kKibibyte), 1);
}

TEST(ChannelsUsedTest, PayloadOfAStep) {
  EXPECT_EQ(StepPayload(Protocol::kLl, {}), Bytes{32'768});
  EXPECT_EQ(StepPayload(Protocol::kLl128, {}), Bytes{576'000});
  EXPECT_EQ(StepPayload(Protocol::kSimple, {}), Bytes{512 * kKibibyte});
  EXPECT_EQ(StepPayload(Protocol::kSimple, {.buffer = Bytes{8 * kMebibyte}}), Bytes{kMebibyte});
}

TEST(ChannelsUsedTest, MessagesUpTo16KibibytesGoWithLl) {
  const auto protocol = [](CollectiveKind kind, std::int64_t bytes) {
    return DirectProtocol(DgxA100(), {.kind = kind, .size = {bytes}});
  };
  EXPECT_EQ(protocol(CollectiveKind::kSendRecv, 16 * kKibibyte), Protocol::kLl);
  EXPECT_EQ(protocol(CollectiveKind::kSendRecv, 16 * kKibibyte + 1), Protocol::kSimple);
  EXPECT_EQ(protocol(CollectiveKind::kAllToAll, 8 * 16 * kKibibyte), Protocol::kLl);
  EXPECT_EQ(protocol(CollectiveKind::kAllToAll, kMebibyte), Protocol::kSimple);
}

}  // namespace
}  // namespace orrery::collective
