#include "orrery/ingest/nccl_tests/infer_run.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace orrery::ingest::nccl_tests {
namespace {

constexpr std::int64_t kMaxRanks = 16'384;

// Times (n-1)/n it is busbw / algbw; 0 stands for the ratio 1.
struct Family {
  std::string_view test;
  int scale;
  bool reduces;
  bool has_root;
};

constexpr std::array kFamilies{
    Family{"all_reduce", 2, true, false},  Family{"reduce_scatter", 1, true, false},
    Family{"all_gather", 1, false, false}, Family{"all_to_all", 1, false, false},
    Family{"alltoallv", 1, false, false},  Family{"gather", 1, false, true},
    Family{"scatter", 1, false, true},     Family{"broadcast", 0, false, true},
    Family{"reduce", 0, true, true},       Family{"send_recv", 0, true, false},
    Family{"hypercube", 0, true, false},
};

struct Bounds {
  double low = 0;
  double high = 0;

  [[nodiscard]] bool Contain(double value) const { return low <= value && value <= high; }
};

// Bandwidths are printed in six characters, so large ones have fewer decimals.
double RoundingError(double printed) {
  if (printed < 1'000) {
    return 0.0051;
  }
  return printed < 10'000 ? 0.051 : 0.51;
}

struct Sample {
  const Row* row = nullptr;
  Bounds ratio;
};

// The half with the largest bus bandwidth has the ratio with the most digits.
std::optional<Sample> BestSample(const Run& run) {
  const Row* best = nullptr;
  double algbw = 0;
  double busbw = 0;
  for (const Row& row : run.rows) {
    for (const Timing& timing : row.timing) {
      if (timing.algbw && timing.busbw && *timing.algbw > 1 && *timing.busbw > busbw) {
        best = &row;
        algbw = *timing.algbw;
        busbw = *timing.busbw;
      }
    }
  }
  if (best == nullptr) {
    return std::nullopt;
  }
  return Sample{best,
                {(busbw - RoundingError(busbw)) / (algbw + RoundingError(algbw)),
                 (busbw + RoundingError(busbw)) / (algbw - RoundingError(algbw))}};
}

bool MayBe(const Family& family, const Run& run, const Row& row) {
  if (!run.test.empty()) {
    return family.test == run.test;
  }
  const bool reduces = row.redop != "none";
  // Old versions have no column for the root.
  const bool root_fits = !row.root || (*row.root >= 0) == family.has_root;
  return reduces == family.reduces && root_fits;
}

std::vector<std::int64_t> RanksThatFit(const Family& family, const Run& run, const Bounds& ratio) {
  std::vector<std::int64_t> fitting;
  const std::int64_t first = run.num_ranks.value_or(2);
  const std::int64_t last = run.num_ranks.value_or(kMaxRanks);
  for (std::int64_t ranks = std::max<std::int64_t>(first, 2); ranks <= last; ++ranks) {
    const auto n = static_cast<double>(ranks);
    if (ratio.Contain(family.scale == 0 ? 1.0 : family.scale * (n - 1) / n)) {
      fitting.push_back(ranks);
    }
  }
  return fitting;
}

}  // namespace

bool IsKnownTest(std::string_view test) {
  return std::any_of(kFamilies.begin(), kFamilies.end(),
                     [&](const Family& family) { return family.test == test; });
}

Inferred InferRun(const Run& run) {
  const auto sample = BestSample(run);
  if (!sample) {
    return {};
  }
  std::vector<std::string_view> tests;
  std::vector<std::int64_t> all_ranks;
  for (const Family& family : kFamilies) {
    if (!MayBe(family, run, *sample->row)) {
      continue;
    }
    const auto ranks = RanksThatFit(family, run, sample->ratio);
    if (!ranks.empty()) {
      tests.push_back(family.test);
      all_ranks.insert(all_ranks.end(), ranks.begin(), ranks.end());
    }
  }
  Inferred inferred;
  if (tests.size() == 1) {
    inferred.test = tests.front();
  }
  if (!all_ranks.empty() &&
      std::all_of(all_ranks.begin(), all_ranks.end(),
                  [&](std::int64_t ranks) { return ranks == all_ranks.front(); })) {
    inferred.num_ranks = all_ranks.front();
  }
  return inferred;
}

}  // namespace orrery::ingest::nccl_tests
