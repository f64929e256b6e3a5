#include "orrery/collective/channels_used.h"

#include <gtest/gtest.h>

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

ChunkLoops Loops(std::int64_t bytes, Protocol protocol) {
  return RingLoops({.size = {bytes}}, protocol, 8, 24, {});
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

// A loop moves 24 * 8 * 2 MiB = 384 MiB, so 1 GiB needs 3. Of 1 GiB / 24 each channel has
// 44,739,243 bytes, 11,184,811 of them in the last loop: 1,398,102 a rank, aligned to 1,398,112.
TEST(ChannelsUsedTest, ARingLoopsOverChunks) {
  EXPECT_EQ(Loops(1024 * kMebibyte, Protocol::kSimple),
            (ChunkLoops{.chunk = {2 * kMebibyte}, .rounds = 3, .last_chunk = {1'398'112}}));
  EXPECT_EQ(Loops(384 * kMebibyte, Protocol::kSimple),
            (ChunkLoops{.chunk = {2 * kMebibyte}, .rounds = 1, .last_chunk = {2 * kMebibyte}}));
  EXPECT_EQ(Loops(0, Protocol::kSimple).rounds, 0);
}

// NVLS on 8 H100 has 16 channels of 8 heads: 128 chunks at once, 16 MiB of 128 KiB. From 1 GiB on
// that is 64 rounds; below, chunks of 64 KiB are 8 MiB at once, 8 rounds of them 64 MiB.
TEST(ChannelsUsedTest, SmallSizesInTheSwitchGoInSmallChunks) {
  const Fabric fabric = FabricOf(*hardware::FindCluster("DGX H100"), {.gpus = 8}).value();
  const auto chunk = [&](std::int64_t bytes) {
    return ChunkOf(fabric, {.size = {bytes}}, Algorithm::kNvls, Protocol::kSimple, 16, {}).count;
  };
  EXPECT_EQ(chunk(1024 * kMebibyte), 128 * kKibibyte);
  EXPECT_EQ(chunk(1024 * kMebibyte - 1), 64 * kKibibyte);
  EXPECT_EQ(chunk(64 * kMebibyte - 1), 32 * kKibibyte);
  EXPECT_EQ(chunk(8 * kMebibyte - 1), 16 * kKibibyte);
}

// PAT gathers 32 chunks a channel at once: with 2 channels, 32 MiB of 512 KiB.
TEST(ChannelsUsedTest, PatHalvesItsChunks) {
  const auto chunk = [](std::int64_t bytes) {
    return ChunkOf({}, {.kind = CollectiveKind::kAllGather, .size = {bytes}}, Algorithm::kPat,
                   Protocol::kSimple, 2, {})
        .count;
  };
  EXPECT_EQ(chunk(32 * kMebibyte), 512 * kKibibyte);
  EXPECT_EQ(chunk(32 * kMebibyte - 1), 256 * kKibibyte);
  EXPECT_EQ(chunk(1), 64 * kKibibyte);
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
