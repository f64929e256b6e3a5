#include "orrery/workload/job/published/published_machine.h"

#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace orrery::workload {
namespace {

TEST(PublishedMachineTest, NetworksAreWhatANodeCarries) {
  const auto gbytes = [](std::string_view text) {
    const auto network = NodeNetworkOf(text);
    return network ? network->bytes_per_second / 1e9 : 0;
  };
  EXPECT_DOUBLE_EQ(gbytes("8x 400 Gb/s NDR IB per node"), 400);  // 8 · 400 / 8
  EXPECT_DOUBLE_EQ(gbytes("1600 Gb/s RoCE per node"), 200);
  EXPECT_DOUBLE_EQ(gbytes("Storage: 2x 200Gb/s, Compute: 8x NDR 400Gb/s"), 400);
  EXPECT_DOUBLE_EQ(gbytes("8 x ConnectX-6 200 Gbps"), 200);
  EXPECT_DOUBLE_EQ(gbytes("2 Tb/s RoCE (per node)"), 250);
  // The rate of one link, eight of them.
  EXPECT_DOUBLE_EQ(NodeNetworkOf("NDR 400 Gb/s", 8)->bytes_per_second / 1e9, 400);
  EXPECT_DOUBLE_EQ(NodeNetworkOf("400 Gb/s RoCE per GPU", 8)->bytes_per_second / 1e9, 400);
  EXPECT_DOUBLE_EQ(NodeNetworkOf("800 Gb/s", 8)->bytes_per_second / 1e9, 100);
  EXPECT_EQ(NodeNetworkOf("InfiniBand"), std::nullopt);
  EXPECT_EQ(NodeNetworkOf(""), std::nullopt);
  // Cells from outside may be long: no stack and no number may overflow.
  EXPECT_EQ(NodeNetworkOf(std::string(1'000'000, '9') + " Gb/s"), std::nullopt);
  EXPECT_EQ(NodeNetworkOf("8x " + std::string(1'000'000, 'y')), std::nullopt);
}

}  // namespace
}  // namespace orrery::workload
