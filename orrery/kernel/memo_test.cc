#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/base/concurrency/parallel.h"
#include "orrery/base/data_type.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/estimate.h"
#include "orrery/kernel/operator.h"

namespace orrery::kernel {
namespace {

/// Tells m seconds for a product of m rows, and counts what it was asked for.
class CountingModel : public CostModel {
 public:
  using CostModel::Predict;

  void Predict(std::span<const Operator> operators, const hardware::Gpu& /*gpu*/,
               std::span<Estimate> estimates) const override {
    asked_ += operators.size();
    for (std::size_t i = 0; i < operators.size(); ++i) {
      estimates[i].seconds = operators[i].Number(Key::kM);
    }
  }

  [[nodiscard]] std::size_t asked() const { return asked_; }

 private:
  mutable std::atomic<std::size_t> asked_ = 0;
};

Operator Rows(std::int64_t m) {
  return Operator(OperatorKind::kGemm, DataType::kBf16).Set(Key::kM, m);
}

const hardware::Gpu& FirstGpu() {
  return hardware::GpuCatalogue().front();
}

TEST(MemoizedCostModel, AsksOnceForEachDistinctOperator) {
  const CountingModel costs;
  const MemoizedCostModel memo(costs, FirstGpu());
  const std::vector<Operator> operators = {Rows(5), Rows(7), Rows(5), Rows(5)};
  std::vector<Estimate> estimates(operators.size());
  memo.Predict(operators, FirstGpu(), estimates);
  EXPECT_EQ(estimates[0].seconds, 5);
  EXPECT_EQ(estimates[1].seconds, 7);
  EXPECT_EQ(estimates[3].seconds, 5);
  EXPECT_EQ(costs.asked(), 2);

  EXPECT_EQ(memo.Predict(Rows(7), FirstGpu()).seconds, 7);
  EXPECT_EQ(costs.asked(), 2);
  EXPECT_EQ(memo.size(), 2);
}

TEST(MemoizedCostModel, TellsOperatorsApartByTypeAndWarmth) {
  const CountingModel costs;
  const MemoizedCostModel memo(costs, FirstGpu());
  Operator warm = Rows(5);
  warm.set_warm(true);
  for (const Operator& op : {Rows(5), Rows(5).WithType(DataType::kFp16), warm}) {
    EXPECT_EQ(memo.Predict(op, FirstGpu()).seconds, 5);
  }
  EXPECT_EQ(costs.asked(), 3);
}

TEST(MemoizedCostModel, RemembersNothingOfAnotherGpu) {
  const CountingModel costs;
  const MemoizedCostModel memo(costs, FirstGpu());
  const hardware::Gpu& other = hardware::GpuCatalogue().back();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(memo.Predict(Rows(5), other).seconds, 5);
  }
  EXPECT_EQ(costs.asked(), 3);
  EXPECT_EQ(memo.size(), 0);
}

TEST(MemoizedCostModel, ManyThreadsGetTheSameAnswers) {
  constexpr std::size_t kQuestions = 20'000;
  constexpr std::size_t kDistinct = 100;
  const CountingModel costs;
  const MemoizedCostModel memo(costs, FirstGpu());
  std::vector<double> seconds(kQuestions);
  ParallelFor(kQuestions, 0, [&](std::size_t i) {
    seconds[i] =
        memo.Predict(Rows(static_cast<std::int64_t>(i % kDistinct) + 1), FirstGpu()).seconds;
  });
  for (std::size_t i = 0; i < kQuestions; ++i) {
    ASSERT_EQ(seconds[i], static_cast<double>(i % kDistinct + 1));
  }
  EXPECT_EQ(memo.size(), kDistinct);
}

}  // namespace
}  // namespace orrery::kernel
