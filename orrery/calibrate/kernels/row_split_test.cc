#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/error.h"
#include "orrery/calibrate/kernels/evaluation.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/measured/measurement.h"
#include "orrery/kernel/operator.h"

namespace orrery::calibrate {
namespace {

using kernel::Key;
using kernel::Measurement;
using kernel::Operator;
using kernel::ParseOperator;

Measurement Row(std::string_view text, std::string_view gpu = "H200") {
  const Result<Operator> op = ParseOperator(text);
  EXPECT_TRUE(op.has_value()) << text;
  return {.op = *op, .gpu = hardware::FindGpu(gpu), .seconds = 1e-6};
}

std::vector<Measurement> Products(std::int64_t count) {
  std::vector<Measurement> rows;
  for (std::int64_t i = 1; i <= count; ++i) {
    rows.push_back(Row(fmt::format("gemm m={} n=64 k=64 bf16", i), i % 2 == 0 ? "H200" : "V100"));
  }
  return rows;
}

TEST(KernelSplitRule, ReadsAllForms) {
  const auto text = [](std::string_view rule) {
    const Result<KernelSplitRule> read = KernelSplitRule::Parse(rule);
    return read ? read->Text() : "refused";
  };
  EXPECT_EQ(text("random"), "random 20 % of the shapes, seed 1");
  EXPECT_EQ(text("random:30:seed=7"), "random 30 % of the shapes, seed 7");
  EXPECT_EQ(text("gpu"), "each GPU in turn unseen");
  EXPECT_EQ(text("gpu:V100"), "V100 unseen");
  EXPECT_EQ(text("value:m"), "20 % of the values of m unseen, seed 1");
  EXPECT_EQ(text("value:m:10"), "10 % of the values of m unseen, seed 1");
  EXPECT_EQ(text("above:m:4096"), "m above 4096 unseen");
}

TEST(KernelSplitRule, RejectsUnknownRules) {
  for (const std::string_view rule :
       {"", "half", "random:0", "random:95", "random:x", "random:20:30", "gpu:a:b", "value",
        "above:m", "above:m:x", "seed=7", "random:seed=x"}) {
    const Result<KernelSplitRule> read = KernelSplitRule::Parse(rule);
    ASSERT_FALSE(read.has_value()) << rule;
    EXPECT_EQ(read.error().message(),
              fmt::format("'{}' is not a split; try random:20, gpu, gpu:V100, value:m:20 or "
                          "above:m:4096, each optionally with :seed=7",
                          rule));
  }
}

TEST(SplitRows, RowsAboveAValueAreHeldOut) {
  const auto rounds = SplitRows(Products(10), *KernelSplitRule::Parse("above:m:7"));
  ASSERT_TRUE(rounds.has_value());
  ASSERT_EQ(rounds->size(), 1);
  EXPECT_EQ(rounds->front().test.size(), 3);
  EXPECT_EQ(rounds->front().train.size(), 7);
}

TEST(SplitRows, EachGpuIsHeldOutInTurn) {
  const auto rounds = SplitRows(Products(10), *KernelSplitRule::Parse("gpu"));
  ASSERT_TRUE(rounds.has_value());
  ASSERT_EQ(rounds->size(), 2);
  EXPECT_EQ((*rounds)[0].name, "H200 unseen");
  EXPECT_EQ((*rounds)[1].name, "V100 unseen");
  for (const Measurement& row : (*rounds)[1].test) {
    EXPECT_EQ(row.gpu->name, "V100");
  }
  EXPECT_EQ(SplitRows(Products(10), *KernelSplitRule::Parse("gpu:v100"))->size(), 1);
}

TEST(SplitRows, AValueIsUnseenOrSeenAsAWhole) {
  std::vector<Measurement> rows;
  for (int m = 1; m <= 40; ++m) {
    for (const int n : {64, 128, 256}) {
      rows.push_back(Row(fmt::format("gemm m={} n={} k=64 bf16", m, n)));
    }
  }
  const auto rounds = SplitRows(rows, *KernelSplitRule::Parse("value:m:30"));
  ASSERT_TRUE(rounds.has_value());
  std::set<std::int64_t> trained;
  for (const Measurement& row : rounds->front().train) {
    trained.insert(row.op.Get(Key::kM));
  }
  for (const Measurement& row : rounds->front().test) {
    EXPECT_FALSE(trained.contains(row.op.Get(Key::kM)));
  }
}

TEST(SplitRows, ASplitThatHoldsOutNothingIsAnError) {
  const auto rounds = SplitRows(Products(10), *KernelSplitRule::Parse("above:m:100"));
  ASSERT_FALSE(rounds.has_value());
  EXPECT_EQ(rounds.error().message(),
            "the split 'm above 100 unseen' holds out no row of this data");
  EXPECT_FALSE(SplitRows(Products(10), *KernelSplitRule::Parse("gpu:A100")).has_value());
  EXPECT_FALSE(SplitRows(Products(10), *KernelSplitRule::Parse("value:lookups")).has_value());
}

TEST(DuplicateKey, WarmColdAndTransposedGemmsAreDuplicates) {
  const auto key = [](std::string_view text) { return DuplicateKey(*ParseOperator(text)); };
  EXPECT_EQ(key("gemm m=8 n=16 k=32 bf16"), key("gemm m=8 n=16 k=32 warm=1 bf16"));
  EXPECT_EQ(key("gemm m=8 n=16 k=32 bf16"), key("gemm m=8 n=32 k=16 bf16"));
  EXPECT_NE(key("gemm m=8 n=16 k=32 bf16"), key("gemm m=16 n=8 k=32 bf16"));
  EXPECT_NE(key("gemm m=8 n=16 k=32 bf16"), key("gemm m=8 n=16 k=32 fp16"));
}

RC_GTEST_PROP(SplitRows, EveryRowIsOnOneSideAndDuplicatesAreTogether, ()) {
  std::vector<Measurement> rows = Products(200);
  const std::size_t plain = rows.size();
  for (std::size_t i = 0; i < plain; ++i) {
    Measurement duplicate = rows[i];
    duplicate.op.set_warm(true);
    rows.push_back(duplicate);
  }
  const KernelSplitRule rule{.share = 0.3, .seed = *rc::gen::arbitrary<std::uint64_t>()};
  const auto rounds = SplitRows(rows, rule);
  RC_ASSERT(rounds.has_value());
  const RowSplit& split = rounds->front();
  RC_ASSERT(split.train.size() + split.test.size() == rows.size());
  std::set<std::string> trained;
  for (const Measurement& row : split.train) {
    trained.insert(DuplicateKey(row.op));
  }
  for (const Measurement& row : split.test) {
    RC_ASSERT(!trained.contains(DuplicateKey(row.op)));
  }
}

}  // namespace
}  // namespace orrery::calibrate
