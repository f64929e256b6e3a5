#include "orrery/learn/split.h"

#include <cstdint>

#include "orrery/base/check.h"
#include "orrery/learn/random.h"

namespace orrery::learn {
namespace {

// Each use of a seed has its own random numbers; else the rows that remain after taking the test
// part would not be drawn uniformly.
enum class Purpose : std::uint64_t { kTest = 1, kValidation = 2 };

double DrawRow(const DataSet& data, const Draw& draw, RowIndex row, Purpose purpose) {
  const std::uint64_t seed = MixBits(draw.seed) + static_cast<std::uint64_t>(purpose);
  return UnitInterval(HashText(data.Group(row, draw.duplicate_group), seed));
}

}  // namespace

Split SplitAtRandom(const DataSet& data, const Draw& draw, double test_share) {
  ORRERY_CHECK(draw.duplicate_group < data.group_names().size(), "the group of duplicates exists");
  // Validation is a share of all rows, not of those that are left.
  const double validation_share = test_share < 1 ? draw.validation_share / (1 - test_share) : 0;
  Split split;
  for (RowIndex row = 0; row < data.num_rows(); ++row) {
    if (DrawRow(data, draw, row, Purpose::kTest) < test_share) {
      split.test.push_back(row);
    } else if (DrawRow(data, draw, row, Purpose::kValidation) < validation_share) {
      split.validation.push_back(row);
    } else {
      split.train.push_back(row);
    }
  }
  return split;
}

}  // namespace orrery::learn
