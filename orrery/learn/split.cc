#include "orrery/learn/split.h"

#include <bit>

#include "orrery/base/check.h"
#include "orrery/learn/random.h"

namespace orrery::learn {
namespace {

// Each use of a seed draws from numbers of its own; else the rows left after taking the test part
// would not be drawn evenly.
enum class Purpose : std::uint64_t { kTest = 1, kValidation = 2, kFold = 3 };

std::uint64_t SeedFor(std::uint64_t seed, Purpose purpose) {
  return MixBits(seed) + static_cast<std::uint64_t>(purpose);
}

std::uint64_t TwinBits(const DataSet& data, const Draw& draw, RowIndex row, Purpose purpose) {
  return HashText(data.Group(row, draw.duplicate_group), SeedFor(draw.seed, purpose));
}

double DrawTwin(const DataSet& data, const Draw& draw, RowIndex row, Purpose purpose) {
  return UnitInterval(TwinBits(data, draw, row, purpose));
}

// Equal values hash alike: -0 is 0 here.
double DrawValue(float value, std::uint64_t seed) {
  const auto bits = std::bit_cast<std::uint32_t>(value + 0.0F);
  return UnitInterval(MixBits(MixBits(bits) ^ SeedFor(seed, Purpose::kTest)));
}

}  // namespace

Split SplitWhere(const DataSet& data, const Draw& draw,
                 const std::function<bool(RowIndex)>& is_test) {
  ORRERY_CHECK(draw.duplicate_group < data.group_names().size(), "the group of duplicates exists");
  Split split;
  for (RowIndex row = 0; row < data.num_rows(); ++row) {
    if (is_test(row)) {
      split.test.push_back(row);
    } else if (DrawTwin(data, draw, row, Purpose::kValidation) < draw.validation_share) {
      split.validation.push_back(row);
    } else {
      split.train.push_back(row);
    }
  }
  return split;
}

Split SplitAtRandom(const DataSet& data, const Draw& draw, double test_share) {
  // Validation is a share of all rows, not of those that are left.
  Draw rest = draw;
  rest.validation_share = test_share < 1 ? draw.validation_share / (1 - test_share) : 0;
  return SplitWhere(data, rest, [&](RowIndex row) {
    return DrawTwin(data, draw, row, Purpose::kTest) < test_share;
  });
}

Split LeaveOut(const DataSet& data, const Draw& draw, std::size_t group,
               std::string_view left_out) {
  ORRERY_CHECK(group < data.group_names().size(), "the group exists");
  return SplitWhere(data, draw, [&](RowIndex row) { return data.Group(row, group) == left_out; });
}

Split SplitByValue(const DataSet& data, const Draw& draw, std::size_t feature, double test_share) {
  return SplitWhere(data, draw, [&](RowIndex row) {
    return DrawValue(data.Features(row)[feature], draw.seed) < test_share;
  });
}

Split SplitAbove(const DataSet& data, const Draw& draw, std::size_t feature, double threshold) {
  return SplitWhere(data, draw, [&](RowIndex row) {
    return static_cast<double>(data.Features(row)[feature]) > threshold;
  });
}

std::vector<Split> CrossValidation(const DataSet& data, const Draw& draw, std::size_t folds) {
  ORRERY_CHECK(folds > 1, "one fold leaves nothing to learn from");
  std::vector<Split> splits;
  for (std::size_t fold = 0; fold < folds; ++fold) {
    splits.push_back(SplitWhere(data, draw, [&](RowIndex row) {
      return TwinBits(data, draw, row, Purpose::kFold) % folds == fold;
    }));
  }
  return splits;
}

}  // namespace orrery::learn
