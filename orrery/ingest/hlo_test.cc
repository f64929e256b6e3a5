#include "orrery/ingest/hlo.h"

#include <optional>

#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/data_type.h"
#include "orrery/trace/enums.h"

namespace orrery::ingest {
namespace {
using Phase = HloCategory::Phase;

TEST(HloTest, CategoriesTellCollectivesAndCopies) {
  EXPECT_EQ(ParseHloCategory("all-reduce").collective, CollectiveKind::kAllReduce);
  EXPECT_EQ(ParseHloCategory("all-gather-start").collective, CollectiveKind::kAllGather);
  EXPECT_EQ(ParseHloCategory("reduce-scatter fusion").collective, CollectiveKind::kReduceScatter);
  EXPECT_EQ(ParseHloCategory("collective-permute-done").collective, CollectiveKind::kSendRecv);
  EXPECT_TRUE(ParseHloCategory("copy").is_copy);
  EXPECT_TRUE(ParseHloCategory("copy-start").is_copy);
  EXPECT_FALSE(ParseHloCategory("copy fused").is_copy);
}

TEST(HloTest, ABroadcastIsLocal) {
  EXPECT_FALSE(ParseHloCategory("broadcast").collective);
  EXPECT_FALSE(ParseHloCategory("reduce").collective);
}

TEST(HloTest, AsynchronousOperationsHaveTwoPhases) {
  EXPECT_EQ(ParseHloCategory("copy").phase, Phase::kWhole);
  EXPECT_EQ(ParseHloCategory("copy-start").phase, Phase::kStart);
  EXPECT_EQ(ParseHloCategory("copy-done").phase, Phase::kDone);
  EXPECT_EQ(ParseHloCategory("send").phase, Phase::kStart);
  EXPECT_EQ(ParseHloCategory("send-done").phase, Phase::kDone);
}

TEST(HloTest, HalvesAreWorkOnlyOnTheAsynchronousLine) {
  const auto kind = [](const char* category, bool on_async_line) {
    return ActivityKindOf(ParseHloCategory(category), on_async_line);
  };

  EXPECT_EQ(kind("copy", false), trace::ActivityKind::kMemcpy);
  EXPECT_EQ(kind("copy-start", false), std::nullopt);
  EXPECT_EQ(kind("copy-start", true), trace::ActivityKind::kMemcpy);
  EXPECT_EQ(kind("all-reduce-start", true), trace::ActivityKind::kKernel);
  EXPECT_EQ(kind("async-start", true), std::nullopt);
  EXPECT_EQ(kind("while", false), std::nullopt);
  EXPECT_EQ(kind("loop fusion", false), trace::ActivityKind::kKernel);
}

TEST(HloTest, TheLayoutOfAnAsynchronousCopyTellsWhichMemoryIsTheHosts) {
  EXPECT_EQ(HloCopyKind("%c = (f32[8]{0:T(8)}, f32[8]{0:T(8)S(5)}, u32[]{:S(2)}) "
                        "copy-start(f32[8]{0:T(8)S(5)} %param.2)"),
            trace::CopyKind::kHostToDevice);
  EXPECT_EQ(HloCopyKind("%c = (f32[8]{0:T(8)S(5)}, f32[8]{0:T(8)}, u32[]{:S(2)}) "
                        "copy-start(f32[8]{0:T(8)} %fusion)"),
            trace::CopyKind::kDeviceToHost);
  EXPECT_EQ(HloCopyKind("%c = (f32[8]{0:T(8)S(1)}, f32[8]{0:T(8)}) copy-start(f32[8]{0:T(8)} %f)"),
            trace::CopyKind::kDeviceToDevice);
  EXPECT_EQ(HloCopyKind("%fusion = f32[8] fusion(f32[8] %f)"), trace::CopyKind::kUnknown);
}

TEST(HloTest, NamesOfPlanesTellTheDevice) {
  EXPECT_EQ(DeviceInXlaName("/device:TPU:13"), 13);
  EXPECT_EQ(DeviceInXlaName("/device:TPU:3 SparseCore 1"), 3);
  EXPECT_EQ(DeviceInXlaName("/device:CUSTOM"), -1);
  EXPECT_EQ(DeviceInXlaName("/host:CPU"), std::nullopt);
}

TEST(HloTest, ShapesGiveTypeAndElements) {
  const auto shape = ParseHloShape("bf16[5,1024]{1,0:T(8,128)}");

  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->data_type, DataType::kBf16);
  EXPECT_EQ(shape->elements, 5'120);
  EXPECT_EQ(ParseHloShape("f32[]")->elements, 1);
  EXPECT_EQ(ParseHloShape("s4[2]")->data_type, DataType::kUnknown);
}

TEST(HloTest, OtherTextIsNoShape) {
  for (const char* text : {"", "f32", "(f32[2], f32[2])", "f32[2,x]", "f32[-1]", "f32]2[",
                           "f32[99999999999,99999999999]"}) {
    EXPECT_FALSE(ParseHloShape(text)) << text;
  }
}

}  // namespace
}  // namespace orrery::ingest
