#include "orrery/workload/job/published/published_words.h"

#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/hardware/cluster.h"

namespace orrery::workload {
namespace {

using testing::HasSubstr;

TEST(PublishedWordsTest, ANetworkOfSomeMachinesOnlyTellsTheMachineWithTheGpu) {
  EXPECT_EQ(MachineWithNetwork("H100", "AWS EFA")->name, "AWS p5");
  EXPECT_EQ(MachineWithNetwork("A100-40GB", "EFA, 400 Gb/s")->name, "AWS p4d");
  EXPECT_EQ(MachineWithNetwork("V100", "Omni-Path 100 Gb/s")->name, "Jean Zay V100");
  EXPECT_EQ(MachineWithNetwork("A100-80GB", "4 Omni-Path links")->name, "Jean Zay A100");
}

TEST(PublishedWordsTest, NetworksThatFitAnyMachineTellNone) {
  EXPECT_EQ(MachineWithNetwork("H100", "8x 400 Gb/s InfiniBand"), nullptr);
  EXPECT_EQ(MachineWithNetwork("H100", "1600 Gb/s RoCE per node"), nullptr);
  EXPECT_EQ(MachineWithNetwork("H100", ""), nullptr);
  EXPECT_EQ(MachineWithNetwork("V100", "EFA"), nullptr);  // no such entry in the catalogue
}

TEST(PublishedWordsTest, APolicyOfMixedPrecisionTellsTheBytesOfGradients) {
  EXPECT_EQ(NamedGradientBytes("bf16 (mixed_precision PURE)"), std::optional(2));
  EXPECT_EQ(NamedGradientBytes("bf16 (mixed_precision DEFAULT)"), std::nullopt);
  EXPECT_EQ(NamedGradientBytes("pure bf16"), std::nullopt);
}

TEST(PublishedWordsTest, LearntRoutingIsUneven) {
  EXPECT_EQ(NamedTokenImbalance("dropless"), 1.6);
  EXPECT_EQ(NamedTokenImbalance("dropless, force-balanced routing"), 1);
  EXPECT_EQ(NamedTokenImbalance("capacity factor 1.0, padded to capacity (token drop)"), 1);
  EXPECT_EQ(NamedTokenImbalance(""), 1);
}

TEST(PublishedWordsTest, AFileThatIsWrongIsRefusedByName) {
  const auto read = ReadPublishedWords(
      "networks:\n  - {kind: token_ring, match: [[a]], source: b}\nroutings: []\nprecisions: []\n");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message(), HasSubstr("token_ring"));
}

}  // namespace
}  // namespace orrery::workload
