#include "orrery/calibrate/kernels/evaluation.h"

#include <cstddef>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/measured/measurement.h"
#include "orrery/kernel/operator.h"

namespace orrery::calibrate {
namespace {

using kernel::Estimate;
using kernel::Measurement;
using kernel::ModelSet;
using kernel::Operator;
using kernel::ParseOperator;
using kernel::Text;
using kernel::Timing;

Measurement Row(std::string_view text, double seconds, std::string_view gpu = "H200") {
  const Result<Operator> op = ParseOperator(text);
  EXPECT_TRUE(op.has_value()) << text;
  return {.op = *op, .gpu = hardware::FindGpu(gpu), .seconds = seconds};
}

EvaluatedOperator Evaluated(std::string_view text, double measured, double predicted) {
  EvaluatedOperator row{Row(text, measured), {}};
  row.predicted.seconds = predicted;
  return row;
}

TEST(Evaluation, SummarizesErrorsInPercent) {
  // Errors of +10, -10 and +40 %: mean of their sizes 20 %, median 10 %, mean with sign 13.3 %.
  const std::vector<EvaluatedOperator> rows = {Evaluated("fill n=1 bf16", 1e-6, 1.1e-6),
                                               Evaluated("fill n=2 bf16", 2e-6, 1.8e-6),
                                               Evaluated("gemm m=1 n=1 k=1 fp32", 1e-6, 1.4e-6)};
  const KernelEvaluation evaluation = Summarize(rows);
  EXPECT_EQ(evaluation.overall.rows, 3);
  EXPECT_NEAR(evaluation.overall.mape, 20, 1e-9);
  EXPECT_NEAR(evaluation.overall.median, 10, 1e-9);
  EXPECT_NEAR(evaluation.overall.bias, 40.0 / 3, 1e-9);
  ASSERT_EQ(evaluation.groups.size(), 2);
  EXPECT_EQ(evaluation.groups[0].operator_name, "fill");
  EXPECT_EQ(evaluation.groups[0].type, "bf16");
  EXPECT_EQ(evaluation.groups[0].figures.rows, 2);
  EXPECT_NEAR(evaluation.groups[1].figures.mape, 40, 1e-9);
  ASSERT_EQ(evaluation.worst.size(), 3);
  EXPECT_EQ(Text(evaluation.worst.front().measured.op), "gemm m=1 n=1 k=1 fp32");
}

TEST(Evaluation, TypesAreOneGroupWhereTheTableHasNoRoom) {
  const std::vector<EvaluatedOperator> rows = {Evaluated("fill n=1 bf16", 1e-6, 1e-6),
                                               Evaluated("fill n=2 fp32", 1e-6, 1e-6)};
  EXPECT_EQ(GroupsOf(rows, GroupBy::kOperatorGpuType).size(), 2);
  EXPECT_EQ(GroupsOf(rows, GroupBy::kOperatorGpu).size(), 1);
}

TEST(EvaluateKernels, KeepsTheOrderOfRowsOverGpusAndTimings) {
  std::vector<Measurement> rows;
  for (int i = 1; i <= 20; ++i) {
    rows.push_back(
        Row(fmt::format("elementwise n={} fp32", i * 1'000'000), 1e-5, i % 2 == 0 ? "H200" : "T4"));
    rows.back().timing = i % 3 == 0 ? Timing::kEager : Timing::kKernels;
  }
  const std::vector<EvaluatedOperator> evaluated = EvaluateKernels(ModelSet(), rows);
  ASSERT_EQ(evaluated.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(evaluated[i].measured.op, rows[i].op);
    Estimate alone;
    ModelSet().PredictAs(rows[i].timing, {&rows[i].op, 1}, *rows[i].gpu, {&alone, 1});
    EXPECT_EQ(evaluated[i].predicted.seconds, alone.seconds);
  }
}

}  // namespace
}  // namespace orrery::calibrate
