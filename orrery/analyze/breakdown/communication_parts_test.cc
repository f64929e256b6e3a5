#include "orrery/analyze/breakdown/communication_parts.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/math/interval_set.h"

namespace orrery::analyze {
namespace {

CommunicationPart Part(std::int64_t begin, std::int64_t end) {
  return {.time = {begin, end}, .useful_ns = begin};
}

// Compute [0,40) and [60,100), tp [40,60), dp [50,90). Exposed is [40,60): tp alone 10, both 10. So
// tp has 10 + 5, dp 5; only tp would free anything alone; dp overlaps [60,90), 30 of 40.
TEST(CommunicationPartsTest, TwoDimensionsShareWhatIsExposed) {
  const std::vector<Interval> compute{{0, 40}, {60, 100}};
  const auto exposures =
      SplitExposure(IntervalSet::Of(compute), {Part(40, 60), Part(50, 90)}, {0, 1}, 2);
  EXPECT_DOUBLE_EQ(exposures[0].shared_ns, 15);
  EXPECT_DOUBLE_EQ(exposures[1].shared_ns, 5);
  EXPECT_EQ(exposures[0].exclusive_ns, 10);
  EXPECT_EQ(exposures[1].exclusive_ns, 0);
  EXPECT_EQ(exposures[0].hidden_ns, 0);
  EXPECT_EQ(exposures[1].hidden_ns, 30);
  EXPECT_EQ(exposures[1].busy_ns, 40);
}

RC_GTEST_PROP(CommunicationPartsProperty, SharesSumToWhatIsExposed, ()) {
  std::vector<Interval> compute;
  for (int i = *rc::gen::inRange(0, 6); i > 0; --i) {
    const std::int64_t begin = *rc::gen::inRange(0, 100);
    compute.push_back({begin, begin + *rc::gen::inRange(0, 20)});
  }
  std::vector<CommunicationPart> parts;
  std::vector<std::size_t> keys;
  std::vector<Interval> all;
  for (int i = *rc::gen::inRange(1, 8); i > 0; --i) {
    const std::int64_t begin = *rc::gen::inRange(0, 100);
    parts.push_back(Part(begin, begin + *rc::gen::inRange(1, 20)));
    keys.push_back(*rc::gen::inRange<std::size_t>(0, 3));
    all.push_back(parts.back().time);
  }
  const IntervalSet compute_set = IntervalSet::Of(compute);
  const auto exposures = SplitExposure(compute_set, parts, keys, 3);
  double shared_ns = 0;
  for (const Exposure& exposure : exposures) {
    shared_ns += exposure.shared_ns;
    RC_ASSERT(static_cast<double>(exposure.exclusive_ns) <= exposure.shared_ns + 1e-9);
    RC_ASSERT(exposure.shared_ns <=
              static_cast<double>(exposure.busy_ns - exposure.hidden_ns) + 1e-9);
  }
  const auto exposed_ns =
      static_cast<double>(Difference(IntervalSet::Of(all), compute_set).length_ns());
  RC_ASSERT(std::abs(shared_ns - exposed_ns) < 1e-6);
}

}  // namespace
}  // namespace orrery::analyze
