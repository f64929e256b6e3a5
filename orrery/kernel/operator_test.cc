#include "orrery/kernel/operator.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/kernel/any_operator_test.h"

namespace orrery::kernel {
namespace {

TEST(OperatorText, ReadsAndWritesCanonically) {
  const auto op = ParseOperator("gemm k=64 bf16 n=32 m=4096");
  ASSERT_TRUE(op.has_value());
  EXPECT_EQ(op->Get(Key::kM), 4096);
  EXPECT_EQ(Text(*op), "gemm m=4096 n=32 k=64 bf16");
}

TEST(OperatorText, KeepsWordsAndLeavesOutDefaults) {
  const auto op =
      ParseOperator("attention b=1 h=32 kv=8 sq=2048 sk=2048 d=128 causal=1 pass=bwd fp16");
  ASSERT_TRUE(op.has_value());
  EXPECT_EQ(op->Word(Key::kPass), "bwd");
  EXPECT_EQ(op->Word(Key::kBackend), "auto");
  EXPECT_EQ(Text(*op), "attention b=1 h=32 kv=8 sq=2048 sk=2048 d=128 causal=1 pass=bwd fp16");
}

TEST(OperatorText, ADiagonalMayLieBelowTheMainOne) {
  const auto op = ParseOperator("tril b=2048 m=27 n=27 diag=-1 fp32");
  ASSERT_TRUE(op.has_value());
  EXPECT_EQ(op->Get(Key::kDiagonal), -1);
  EXPECT_EQ(Text(*op), "tril b=2048 m=27 n=27 diag=-1 fp32");
}

TEST(OperatorText, SaysWhatIsWrong) {
  const auto message = [](std::string_view text) {
    const auto op = ParseOperator(text);
    return op ? std::string("read") : op.error().message();
  };
  EXPECT_EQ(message("gemm m=1 n=1 bf16"), "gemm needs k=");
  EXPECT_EQ(message("gemm m=1 n=1 k=1"), "the data type is missing, such as bf16 or fp32");
  EXPECT_EQ(message("gemm m=0 n=1 k=1 bf16"), "m=0 is not an integer from 1 to 1125899906842624");
  EXPECT_EQ(message("gemm m=1 m=1 n=1 k=1 bf16"), "m= is given twice");
  EXPECT_EQ(message("gemm m=1 q=1 bf16"), "gemm has no 'q'; it has m, n, k, layout, bias");
  EXPECT_EQ(message("gemm m=1 n=1 k=1 layout=xx bf16"),
            "'xx' is not a valid layout; expected one of nn, nt, tn, tt");
  EXPECT_EQ(message("gemm m=1 n=1 k=1 brain16"),
            "'brain16' is neither key=value nor a data type such as bf16");
  EXPECT_THAT(message("gem m=1"),
              testing::StartsWith("unknown operator 'gem'; expected one of gemm"));
}

RC_GTEST_PROP(OperatorText, ReadsBackWhatItWrote, ()) {
  const Operator op = AnyOperator();
  const auto read = ParseOperator(Text(op));
  RC_ASSERT(read.has_value());
  RC_ASSERT(*read == op);
  RC_ASSERT(OperatorHash()(*read) == OperatorHash()(op));
}

}  // namespace
}  // namespace orrery::kernel
