#include "orrery/collective/nccl/tuner.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/data_type.h"
#include "orrery/collective/algorithm.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/nccl/nccl_settings.h"
#include "orrery/collective/nccl/tuner_tables.h"
#include "orrery/collective/request.h"
#include "orrery/hardware/cluster.h"

namespace orrery::collective {
namespace {

constexpr std::int64_t kKibibyte = 1 << 10;
constexpr std::int64_t kMebibyte = 1 << 20;

Fabric Of(std::string_view cluster, int gpus, int gpus_per_node = 0) {
  return FabricOf(*hardware::FindCluster(cluster), {.gpus = gpus, .gpus_per_node = gpus_per_node})
      .value();
}

Request AllReduce(std::int64_t bytes) {
  return {.kind = CollectiveKind::kAllReduce, .size = {bytes}};
}

Tuning Tuned(const Fabric& fabric, const Request& request, std::string_view settings = "",
             std::string_view version = "") {
  return Tune(fabric, request, ParseNcclSettings(settings).value(),
              *FindTunerTables(version).value())
      .value();
}

Candidate Choice(const Fabric& fabric, const Request& request, std::string_view settings = "",
                 std::string_view version = "") {
  return Tuned(fabric, request, settings, version).choice();
}

Candidate AlgorithmAndProtocol(const Fabric& fabric, const Request& request, Algorithm algorithm,
                               Protocol protocol) {
  const Tuning tuning = Tuned(fabric, request);
  for (const Candidate& candidate : tuning.candidates()) {
    if (candidate.algorithm == algorithm && candidate.protocol == protocol) {
      return candidate;
    }
  }
  ADD_FAILURE() << Name(algorithm) << " " << Name(protocol) << " is not enabled";
  return {};
}

// RCCL on one node of eight MI300X: a ring of 14 hops, 17 + 14 · 2.1 µs with Simple, which takes
// all of the bus and a tree with LL 6 % of it; no tree with Simple, no LL128, nothing in a switch.
TEST(RcclTuner, HasConstantsOfItsOwn) {
  const Fabric fabric = Of("MI300X", 8);
  const Tuning tuning = Tuned(fabric, AllReduce(256 * kMebibyte));
  EXPECT_EQ(tuning.candidates().size(), 3);
  for (const Candidate& candidate : tuning.candidates()) {
    EXPECT_NE(candidate.protocol, Protocol::kLl128);
    EXPECT_TRUE(candidate.algorithm == Algorithm::kRing || candidate.protocol == Protocol::kLl);
  }
  EXPECT_EQ(tuning.choice().algorithm, Algorithm::kRing);
  EXPECT_EQ(tuning.choice().protocol, Protocol::kSimple);
  EXPECT_NEAR(tuning.choice().latency_us, 17 + 14 * 2.1, 1e-9);
  EXPECT_NEAR(tuning.choice().algorithm_gbps, fabric.rings.intra_total() * 8 / 14, 1e-9);
}

// Two nodes: parts of a rank up to 1 MiB go by LL, though Simple has twelve times the bandwidth.
TEST(RcclTuner, TakesLlForSmallPartsOverSeveralNodes) {
  const Fabric fabric = Of("MI300X", 16);
  EXPECT_EQ(Choice(fabric, AllReduce(16 * kMebibyte)).protocol, Protocol::kLl);
  EXPECT_EQ(Choice(fabric, AllReduce(1024 * kMebibyte)).protocol, Protocol::kSimple);
}

Candidate Ring(const Fabric& fabric, std::int64_t bytes, Protocol protocol) {
  return AlgorithmAndProtocol(fabric, AllReduce(bytes), Algorithm::kRing, protocol);
}

// 8 A100, 12 rings at 20 GB/s: bus 240. LL min(87.7, 120) * 8 / 14 with 6.6 + 14 * 0.6 µs; LL128
// 0.92 * 240 * 8 / 14 with 14 + 14 * 1.9; Simple 240 * 8 / 14 with 8.4 + 14 * 3.4.
TEST(TunerTest, OneNodeOfA100) {
  const Fabric fabric = Of("DGX A100", 8);
  const Candidate ll = Ring(fabric, kMebibyte, Protocol::kLl);
  const Candidate ll128 = Ring(fabric, kMebibyte, Protocol::kLl128);
  const Candidate simple = Ring(fabric, kMebibyte, Protocol::kSimple);
  EXPECT_NEAR(ll.latency_us, 15.0, 1e-9);
  EXPECT_NEAR(ll128.latency_us, 40.6, 1e-9);
  EXPECT_NEAR(simple.latency_us, 56.0, 1e-9);
  EXPECT_NEAR(ll.algorithm_gbps, 50.1143, 5e-5);
  EXPECT_NEAR(ll128.algorithm_gbps, 126.1714, 5e-5);
  EXPECT_NEAR(simple.algorithm_gbps, 137.1429, 5e-5);
  EXPECT_NEAR(ll.time_us, 35.9237, 5e-5);
  EXPECT_NEAR(ll128.time_us, 48.9107, 5e-5);
  EXPECT_NEAR(simple.time_us, 63.6459, 5e-5);
  EXPECT_NEAR(Choice(fabric, AllReduce(1024 * kMebibyte)).time_us, 7885.4, 0.05);
}

TEST(TunerTest, OneNodeOfA100SwitchesProtocols) {
  const Fabric fabric = Of("DGX A100", 8);
  EXPECT_EQ(Choice(fabric, AllReduce(kMebibyte)).algorithm, Algorithm::kRing);
  EXPECT_EQ(Choice(fabric, AllReduce(kMebibyte)).protocol, Protocol::kLl);
  EXPECT_EQ(Choice(fabric, AllReduce(2'120'000)).protocol, Protocol::kLl);
  EXPECT_EQ(Choice(fabric, AllReduce(2'140'000)).protocol, Protocol::kLl128);
  EXPECT_EQ(Choice(fabric, AllReduce(24'200'000)).protocol, Protocol::kLl128);
  EXPECT_EQ(Choice(fabric, AllReduce(24'400'000)).protocol, Protocol::kSimple);
}

struct Expected {
  Algorithm algorithm;
  Protocol protocol;
  double algorithm_gbps;
  double latency_us;
  double at_1_kib;
  double at_1_mib;
  double at_256_mib;
};

// 16 A100 with AMD hosts: 8 channels at 24, bus 192.
TEST(TunerTest, TwoNodesOfA100) {
  const Fabric fabric = Of("Azure ND A100 v4", 16);
  const std::array<Expected, 6> candidates = {{
      {Algorithm::kRing, Protocol::kLl, 12.0, 68.0, 68.085, 155.381, 22437.6},
      {Algorithm::kRing, Protocol::kLl128, 85.3333, 78.0, 78.012, 90.288, 3223.7},
      {Algorithm::kRing, Protocol::kSimple, 102.4, 204.4, 204.410, 296.400, 2907.6},
      {Algorithm::kTree, Protocol::kLl, 11.25, 25.2, 25.301, 211.614, 23886.1},
      {Algorithm::kTree, Protocol::kLl128, 80.0, 48.5, 48.513, 70.345, 3403.9},
      {Algorithm::kTree, Protocol::kSimple, 88.32, 92.4, 92.413, 116.145, 3469.5},
  }};
  for (const Expected& candidate : candidates) {
    const auto at = [&](std::int64_t bytes) {
      return AlgorithmAndProtocol(fabric, AllReduce(bytes), candidate.algorithm,
                                  candidate.protocol);
    };
    SCOPED_TRACE(std::string(Name(candidate.algorithm)) + " " +
                 std::string(Name(candidate.protocol)));
    EXPECT_NEAR(at(kKibibyte).algorithm_gbps, candidate.algorithm_gbps, 5e-5);
    EXPECT_NEAR(at(kKibibyte).latency_us, candidate.latency_us, 1e-9);
    EXPECT_NEAR(at(kKibibyte).time_us, candidate.at_1_kib, 5e-4);
    EXPECT_NEAR(at(kMebibyte).time_us, candidate.at_1_mib, 5e-4);
    EXPECT_NEAR(at(256 * kMebibyte).time_us, candidate.at_256_mib, 0.05);
  }
}

TEST(TunerTest, TwoNodesOfA100Choose) {
  const Fabric fabric = Of("Azure ND A100 v4", 16);
  const Candidate small = Choice(fabric, AllReduce(kKibibyte));
  const Candidate middle = Choice(fabric, AllReduce(kMebibyte));
  const Candidate large = Choice(fabric, AllReduce(256 * kMebibyte));
  EXPECT_EQ(small.algorithm, Algorithm::kTree);
  EXPECT_EQ(small.protocol, Protocol::kLl);
  EXPECT_EQ(middle.algorithm, Algorithm::kTree);
  EXPECT_EQ(middle.protocol, Protocol::kLl128);
  EXPECT_EQ(large.algorithm, Algorithm::kRing);
  EXPECT_EQ(large.protocol, Protocol::kSimple);
}

// 16 KiB over 16 channels and 16 ranks are 64 bytes each: 204.4 * 1.4 = 286.16.
TEST(TunerTest, RingsOverNodesReachAPlateau) {
  const Fabric fabric = Of("Azure ND A100 v4", 16);
  const double transfer = 16384 / 102.4e3;
  EXPECT_NEAR(Ring(fabric, 16 * kKibibyte, Protocol::kSimple).time_us, 286.16 + transfer, 1e-9);
  EXPECT_LT(Ring(fabric, 16 * kKibibyte - 1, Protocol::kSimple).time_us, 205);
}

// Measured: ring with 4 GPUs, reduction in the switch with 5 to 8 H200 and 6 to 8 B200.
TEST(TunerTest, TheSwitchReducesForEnoughGpus) {
  for (const char* version : {"2.28", "2.27"}) {
    for (const char* cluster : {"DGX H200", "DGX B200"}) {
      const auto algorithm = [&](int gpus) {
        return Choice(Of(cluster, gpus), AllReduce(1024 * kMebibyte), "", version).algorithm;
      };
      EXPECT_EQ(algorithm(2), Algorithm::kRing) << cluster;
      EXPECT_EQ(algorithm(4), Algorithm::kRing) << cluster;
      EXPECT_EQ(algorithm(6), Algorithm::kNvls) << cluster;
      EXPECT_EQ(algorithm(7), Algorithm::kNvls) << cluster;
      EXPECT_EQ(algorithm(8), Algorithm::kNvls) << cluster;
    }
  }
  EXPECT_EQ(Choice(Of("DGX H200", 5), AllReduce(1024 * kMebibyte)).algorithm, Algorithm::kNvls);
}

// B200: 8 * 90 * 0.74 * 8 / 9 by its links. H100: 8 * 40 * 5 / 6 by its channels, which is less
// than 12 * 30 * 0.85 * 8 / 9 = 272.
TEST(TunerTest, SwitchReductionIsBoundByLinksAndChannels) {
  const auto nvls = [](std::string_view cluster) {
    return AlgorithmAndProtocol(Of(cluster, 8), AllReduce(1024 * kMebibyte), Algorithm::kNvls,
                                Protocol::kSimple);
  };
  EXPECT_NEAR(nvls("DGX B200").algorithm_gbps, 473.6, 1e-9);
  EXPECT_NEAR(nvls("DGX H100").algorithm_gbps, 320 * 5 / 6.0, 1e-9);
  EXPECT_EQ(nvls("DGX H100").latency_us, 25);
}

TEST(TunerTest, TheSwitchCannotReduceEverything) {
  const Fabric fabric = Of("DGX H100", 8);
  Request request = AllReduce(1024 * kMebibyte);
  request.element = DataType::kInt8;
  EXPECT_EQ(Choice(fabric, request).algorithm, Algorithm::kRing);
  EXPECT_EQ(Choice(fabric, AllReduce(1024 * kMebibyte), "NCCL_NVLS_ENABLE=0").algorithm,
            Algorithm::kRing);
  EXPECT_EQ(Choice(fabric, AllReduce(1024 * kMebibyte), "", "2.12").algorithm, Algorithm::kRing);
}

TEST(TunerTest, GatheringIsARingUnlessAskedOtherwise) {
  const Fabric fabric = Of("DGX H100", 8);
  const Request request{.kind = CollectiveKind::kAllGather, .size = {1024 * kMebibyte}};
  EXPECT_EQ(Choice(fabric, request).algorithm, Algorithm::kRing);
  EXPECT_EQ(Choice(fabric, request, "NCCL_ALGO=NVLS").algorithm, Algorithm::kNvls);
}

// 8 + 4 * 14 / 3.5 + 2.8 * 16: one rank a node takes the tree's network latency.
TEST(TunerTest, PatNeedsOneGpuANode) {
  const Request request{.kind = CollectiveKind::kAllGather, .size = {kKibibyte}};
  const Candidate pat =
      AlgorithmAndProtocol(Of("DGX H100", 16, 1), request, Algorithm::kPat, Protocol::kSimple);
  EXPECT_NEAR(pat.latency_us, 8 + 4 * 14 / 3.5 + 2.8 * 16, 1e-9);
  EXPECT_FALSE(
      Tune(Of("DGX H100", 16), request, ParseNcclSettings("PAT").value(), NewestTunerTables()));
}

TEST(TunerTest, SeveralNodesWithSwitchesUseTheirTree) {
  const Candidate choice = Choice(Of("DGX H100", 32), AllReduce(1024 * kMebibyte));
  EXPECT_EQ(choice.algorithm, Algorithm::kNvlsTree);
}

TEST(TunerTest, PcieHasNoLl128) {
  const Tuning tuning = Tuned(Of("L40S PCIe", 4), AllReduce(kMebibyte));
  for (const Candidate& candidate : tuning.candidates()) {
    EXPECT_NE(candidate.protocol, Protocol::kLl128);
  }
}

TEST(TunerTest, SettingsForceAnAlgorithm) {
  const Fabric fabric = Of("DGX A100", 8);
  const Candidate choice = Choice(fabric, AllReduce(kKibibyte), "NCCL_ALGO=Tree,NCCL_PROTO=Simple");
  EXPECT_EQ(choice.algorithm, Algorithm::kTree);
  EXPECT_EQ(choice.protocol, Protocol::kSimple);
  EXPECT_EQ(
      Tune(fabric, AllReduce(kKibibyte), ParseNcclSettings("NVLS").value(), NewestTunerTables())
          .error()
          .message(),
      "the settings of NCCL leave no candidate to do all_reduce over 8 GPUs");
}

TEST(TunerTest, AllToAllIsPairs) {
  const Request request{.kind = CollectiveKind::kAllToAll, .size = {64 * kMebibyte}};
  const Candidate choice = Choice(Of("DGX H100", 8), request);
  EXPECT_EQ(choice.algorithm, Algorithm::kDirect);
  EXPECT_EQ(choice.protocol, Protocol::kSimple);
  EXPECT_NEAR(choice.algorithm_gbps, 370.8 * 8 / 7, 1e-6);
}

TEST(TunerTest, OneRankTakesNoTime) {
  EXPECT_EQ(Choice(Of("DGX H100", 1), AllReduce(kMebibyte)).time_us, 0);
}

TEST(TunerTest, ABarrierIsASmallAllReduce) {
  const Fabric fabric = Of("DGX A100", 8);
  EXPECT_EQ(Choice(fabric, {.kind = CollectiveKind::kBarrier, .size = {4}}).time_us,
            Choice(fabric, AllReduce(4)).time_us);
}

RC_GTEST_PROP(TunerTest, TheChoiceIsTheFastestCandidate, ()) {
  const auto& clusters = hardware::ClusterCatalogue();
  const auto index = *rc::gen::inRange<std::size_t>(0, clusters.size());
  const auto fabric = FabricOf(clusters[index], {.gpus = *rc::gen::inRange(2, 65)});
  RC_PRE(fabric.has_value());
  const auto bytes = *rc::gen::inRange<std::int64_t>(1, std::int64_t{1} << 32);

  const Tuning tuning = Tuned(*fabric, AllReduce(bytes));

  for (const Candidate& candidate : tuning.candidates()) {
    RC_ASSERT(candidate.time_us >= tuning.choice().time_us);
    RC_ASSERT(candidate.time_us >= candidate.latency_us);
    RC_ASSERT(candidate.algorithm_gbps > 0);
  }
}

}  // namespace
}  // namespace orrery::collective
