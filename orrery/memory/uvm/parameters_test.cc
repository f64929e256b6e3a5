#include "orrery/memory/uvm/parameters.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "orrery/hardware/gpu.h"

namespace orrery::memory::uvm {
namespace {

TEST(UvmParametersTest, TheOnesOfTheProgramFitEachOther) {
  const Parameters& parameters = DefaultParameters();

  EXPECT_TRUE(CheckParameters(parameters));
  EXPECT_NE(hardware::FindGpu(parameters.gpu), nullptr);
  EXPECT_EQ(parameters.Tree().pages_per_block, 512);
}

TEST(UvmParametersTest, PublishedCostsAreOthers) {
  EXPECT_TRUE(CheckParameters(PublishedParameters()));
  EXPECT_NE(PublishedParameters().fault_share, DefaultParameters().fault_share);
  EXPECT_NE(PublishedParameters().cost_source, DefaultParameters().cost_source);
}

TEST(UvmParametersTest, OddPagesAreRefused) {
  Parameters parameters = DefaultParameters();
  for (const std::int64_t page_bytes : {0, 2048, 5000, 131072}) {
    parameters.page_bytes = page_bytes;
    EXPECT_FALSE(CheckParameters(parameters)) << page_bytes;
  }
  parameters.page_bytes = 65536;
  EXPECT_TRUE(CheckParameters(parameters));
}

// Two pages with data at 1 page/s, one without at 4 pages/s, four that leave at 2 pages/s.
TEST(UvmParametersTest, MovesTakeTheTimeOfTheirBytes) {
  const Rates rates{.prefetch = {}, .fault = {}, .eviction = {200}};
  const Inflow in{.copied = {100}, .empty = {400}};

  EXPECT_EQ(MoveTime({.pages_in = 3, .pages_copied = 2, .pages_out = 4}, 100, in, rates),
            4'250'000'000);
}

}  // namespace
}  // namespace orrery::memory::uvm
