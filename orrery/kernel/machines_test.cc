// Times that one machine wrote down and every other must tell too. Why they can:
// docs/design/0004-kernel-models.md.
#include <cstddef>
#include <string>

#include <gtest/gtest.h>

#include "orrery/base/document/csv.h"
#include "orrery/base/error.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/model_set.h"
#include "orrery/kernel/operator.h"
#include "orrery/learn/model_file.h"
#include "test_paths.h"

namespace orrery::kernel {
namespace {

const std::string kFolder = std::string(ORRERY_TEST_DATA) + "/kernels/";

TEST(Machines, TellTheSameTimes) {
  const auto file = learn::ReadModelFile(kFolder + "small.orrmodel");
  ASSERT_TRUE(file.has_value()) << file.error().message();
  ModelSet models;
  const Status added = models.AddFrom(*file);
  ASSERT_TRUE(added.has_value()) << added.error().message()
                                 << " (tests/data/make_kernel_golden.py regenerates it)";
  const auto golden = ReadCsvFile(kFolder + "golden.csv");
  ASSERT_TRUE(golden.has_value()) << golden.error().message();
  ASSERT_GE(golden->num_rows(), 40);
  const hardware::Gpu& gpu = *hardware::FindGpu("h200");
  for (std::size_t row = 0; row < golden->num_rows(); ++row) {
    const std::string text(golden->Text(row, "operator").value());
    const auto op = ParseOperator(text);
    ASSERT_TRUE(op.has_value()) << text;
    const double seconds = golden->Number(row, "seconds").value();
    EXPECT_NEAR(models.Predict(*op, gpu).seconds / seconds, 1, 1e-6) << text;
  }
}

}  // namespace
}  // namespace orrery::kernel
