#include <string_view>

#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/operator.h"
#include "orrery/kernel/work.h"

namespace orrery::kernel {
namespace {

Bound BoundOn(std::string_view gpu, std::string_view text) {
  const Result<Operator> op = ParseOperator(text);
  EXPECT_TRUE(op.has_value()) << text;
  return BoundOf(*op, WorkOf(*op), *hardware::FindGpu(gpu));
}

TEST(Bound, ALargeGemmIsBoundByArithmetic) {
  // 2·4096³ FLOPs at 989.4 TFLOP/s; three matrices of 4096² · 2 bytes at 4.8 TB/s.
  const Bound bound = BoundOn("H200", "gemm m=4096 n=4096 k=4096 bf16");
  EXPECT_NEAR(bound.compute_seconds, 137'438'953'472 / 989.4e12, 1e-12);
  EXPECT_NEAR(bound.memory_seconds, 100'663'296 / 4.8e12, 1e-12);
  EXPECT_EQ(bound.Seconds(), bound.compute_seconds);
}

TEST(Bound, AStreamIsBoundByMemory) {
  const Bound bound = BoundOn("H200", "elementwise n=1000000 rb=4 wb=2 bf16");
  EXPECT_NEAR(bound.compute_seconds, 1e6 / 67e12, 1e-15);  // not at the rate of tensor cores
  EXPECT_NEAR(bound.memory_seconds, 6e6 / 4.8e12, 1e-15);
  EXPECT_EQ(bound.Seconds(), bound.memory_seconds);
}

TEST(Bound, ATypeThatAGpuDoesNotListRunsAtTheRateOfTheNextWiderOne) {
  const double flops = 2.0 * 64 * 64 * 64;
  EXPECT_DOUBLE_EQ(BoundOn("V100", "gemm m=64 n=64 k=64 fp8").compute_seconds, flops / 125e12);
  EXPECT_DOUBLE_EQ(BoundOn("V100", "gemm m=64 n=64 k=64 tf32").compute_seconds, flops / 15.7e12);
  EXPECT_DOUBLE_EQ(BoundOn("P4", "gemm m=64 n=64 k=64 bf16").compute_seconds, flops / 5.5e12);
}

TEST(Bound, CopiesToAndFromTheHostCrossItsLink) {
  EXPECT_DOUBLE_EQ(BoundOn("H200", "memcpy bytes=64000000 dir=h2d int8").Seconds(), 1e-3);
  EXPECT_DOUBLE_EQ(BoundOn("H200", "memcpy bytes=64000000 dir=d2h int8").Seconds(), 1e-3);
  // On the device both directions use the memory.
  EXPECT_DOUBLE_EQ(BoundOn("H200", "memcpy bytes=48000000 dir=d2d int8").Seconds(), 96e6 / 4.8e12);
}

TEST(Bound, MeetsTheReferenceOnAMeasuredV100) {
  // Reference vector TV3: relu on 2^20 floats at 15441.524 GFLOP/s and 816.953 GB/s is
  // 8 · 2^20 / 816.953e9 = 10.268165 µs.
  hardware::Gpu gpu = *hardware::FindGpu("V100");
  gpu.peak_flops["fp32"] = 15441.524e9;
  gpu.memory.bytes_per_second = 816.953e9;
  const Operator relu = *ParseOperator("elementwise fn=relu n=1048576 rb=4 wb=4 fp32");
  EXPECT_NEAR(BoundOf(relu, WorkOf(relu), gpu).Seconds() * 1e6, 10.268165, 1e-6);
}

}  // namespace
}  // namespace orrery::kernel
