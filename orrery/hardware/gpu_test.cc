#include "orrery/hardware/gpu.h"

#include <optional>

#include <gtest/gtest.h>

namespace orrery::hardware {
namespace {

TEST(GpuTest, FindsTheNamesOfProfilersAndCards) {
  EXPECT_EQ(FindGpu("NVIDIA A100-SXM4-80GB")->name, "A100-80GB");
  EXPECT_EQ(FindGpu("nvidia_a100_40gb"), FindGpu("A100 40GB"));
  EXPECT_EQ(FindGpu("nvidia_h100")->name, "H100");
  EXPECT_EQ(FindGpu("NVIDIA H200")->name, "H200");
  EXPECT_EQ(FindGpu("AMD Instinct MI300X")->name, "MI300X");
  EXPECT_EQ(FindGpu("NVIDIA GB200")->name, "GB200");
  EXPECT_EQ(FindGpu("GB300 (B300 288GB)")->name, "GB300");
  EXPECT_EQ(FindGpu("B300-SXM")->name, "B300");
  EXPECT_EQ(FindGpu("NVIDIA RTX 6000 Ada Generation")->name, "RTX-6000-Ada");
  EXPECT_EQ(FindGpu("GeForce GT400"), nullptr);
  EXPECT_EQ(FindGpu(""), nullptr);
}

TEST(GpuTest, PeaksByPrecision) {
  const Gpu* const a100 = FindGpu("nvidia_a100");
  EXPECT_EQ(a100->PeakFlops("bfloat16"), 312e12);
  EXPECT_EQ(a100->PeakFlops("BF16"), 312e12);
  EXPECT_EQ(a100->PeakFlops("fp8"), std::nullopt);
}

TEST(GpuTest, EveryEntryIsComplete) {
  EXPECT_GE(GpuCatalogue().size(), 20u);
  for (const Gpu& gpu : GpuCatalogue()) {
    EXPECT_GT(gpu.multiprocessors, 0) << gpu.name;
    EXPECT_GT(gpu.memory.bytes_per_second, 0) << gpu.name;
    EXPECT_GE(gpu.year, 2016) << gpu.name;
    EXPECT_GT(gpu.clock_hz, 5e8) << gpu.name;
    EXPECT_GT(gpu.last_level_cache.count, 1 << 20) << gpu.name;
    EXPECT_GT(gpu.memory_size.count, gpu.last_level_cache.count) << gpu.name;
    EXPECT_GT(gpu.host_link.bytes_per_second, 1e10) << gpu.name;
    EXPECT_GT(gpu.power_watts, 50) << gpu.name;
    EXPECT_FALSE(gpu.peak_flops.empty()) << gpu.name;
    EXPECT_FALSE(gpu.source.empty()) << gpu.name;
    EXPECT_EQ(FindGpu(gpu.name), &gpu) << gpu.name;
  }
}

}  // namespace
}  // namespace orrery::hardware
