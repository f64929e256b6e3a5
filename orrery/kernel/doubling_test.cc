// Tests of the change of a time when a size is doubled.
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/hardware/gpu.h"
#include "orrery/kernel/estimate.h"
#include "orrery/kernel/model_set.h"
#include "orrery/kernel/operator.h"
#include "orrery/kernel/operators_test.h"
#include "orrery/learn/data_set.h"
#include "orrery/learn/model_file.h"
#include "test_paths.h"

namespace orrery::kernel {
namespace {

/// Pairs of an operator and its double, and how many doubles take less than 95 % of the time.
struct Count {
  std::size_t pairs = 0;
  std::size_t falls = 0;
};

/// Doubles every size of every operator.
Count CountFalls(const ModelSet& models, const std::vector<Operator>& operators) {
  const hardware::Gpu& gpu = *hardware::FindGpu("h200");
  std::vector<Operator> asked;
  std::vector<std::size_t> half_of;
  for (const Operator& op : operators) {
    const std::size_t half = asked.size();
    asked.push_back(op);
    half_of.push_back(half);
    const std::span<const Field> fields = SchemaOf(op.kind()).fields;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (fields[i].type == FieldType::kSize) {
        asked.push_back(op);
        asked.back().Set(fields[i].key, 2 * op.values()[i]);
        half_of.push_back(half);
      }
    }
  }
  std::vector<Estimate> estimates(asked.size());
  models.Predict(asked, gpu, estimates);
  Count count;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    count.pairs += half_of[i] == i ? 0 : 1;
    count.falls += estimates[i].seconds < 0.95 * estimates[half_of[i]].seconds ? 1 : 0;
  }
  return count;
}

std::vector<Operator> RandomOperators(std::size_t count) {
  learn::Random random(7);
  std::vector<Operator> operators;
  for (std::size_t i = 0; i < count; ++i) {
    operators.push_back(test_operators::RandomOperator(random));
  }
  return operators;
}

/// Convolutions are left out: a larger window may leave fewer results.
TEST(Doubling, NeverMakesARooflineFall) {
  std::vector<Operator> operators = RandomOperators(20'000);
  std::erase_if(operators, [](const Operator& op) {
    return op.kind() == OperatorKind::kConv || op.kind() == OperatorKind::kConv1d;
  });
  EXPECT_EQ(CountFalls(ModelSet(), operators).falls, 0);
}

/// A guard against a rougher model, not proof of the property: about 0.7 % of pairs do fall, and
/// not many more would without the lowering.
TEST(Doubling, SeldomMakesALearnedTimeFall) {
  const auto file = learn::ReadModelFile(std::string(ORRERY_TEST_DATA) + "/kernels/small.orrmodel");
  ASSERT_TRUE(file.has_value()) << file.error().message();
  ModelSet models;
  ASSERT_TRUE(models.AddFrom(*file).has_value());
  const Count count = CountFalls(models, RandomOperators(20'000));
  EXPECT_GT(count.pairs, 50'000);
  EXPECT_LT(static_cast<double>(count.falls), 0.02 * static_cast<double>(count.pairs))
      << count.falls;
}

}  // namespace
}  // namespace orrery::kernel
