#include "orrery/simulate/link_class.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "orrery/base/check.h"
#include "orrery/base/mix_bits.h"

namespace orrery::simulate {
namespace {

// Members of one island that the group meets one after the other.
struct Run {
  std::uint32_t island = 0;
  std::uint32_t place = 0;  // of its first member in the group
  std::uint32_t ranks = 0;
};

std::vector<Run> RunsOf(std::span<const network::GpuId> gpus, std::uint32_t gpus_per_island) {
  std::vector<Run> runs;
  for (std::uint32_t place = 0; place < gpus.size(); ++place) {
    const std::uint32_t island = gpus[place] / gpus_per_island;
    if (runs.empty() || runs.back().island != island) {
      runs.push_back({island, place, 0});
    }
    ++runs.back().ranks;
  }
  return runs;
}

// Joins runs of the same island; what is left is in the order of first members.
void JoinIslands(std::vector<Run>& runs) {
  std::ranges::stable_sort(runs, {}, &Run::island);
  std::size_t last = 0;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    if (runs[i].island == runs[last].island) {
      runs[last].ranks += runs[i].ranks;
    } else {
      runs[++last] = runs[i];
    }
  }
  runs.resize(last + 1);
  std::ranges::sort(runs, {}, &Run::place);
}

std::uint64_t WithRun(std::uint64_t bits, std::uint32_t num_ranks) {
  return MixBits(bits + num_ranks + 0x9e3779b97f4a7c15);
}

}  // namespace

IslandLinkClass::IslandLinkClass(std::uint32_t gpus_per_island)
    : gpus_per_island_(gpus_per_island) {
  ORRERY_CHECK(gpus_per_island > 0, "an island has GPUs");
}

// Most groups meet their islands in ascending order, so that no island comes twice.
std::uint64_t IslandLinkClass::Of(std::span<const network::GpuId> gpus) const {
  std::uint64_t bits = 0;
  std::uint32_t num_ranks = 0;
  for (std::size_t place = 0; place < gpus.size(); ++place) {
    const std::uint32_t island = gpus[place] / gpus_per_island_;
    const std::uint32_t before = place == 0 ? island : gpus[place - 1] / gpus_per_island_;
    if (island < before) {
      return OfUnordered(gpus);
    }
    if (island != before) {
      bits = WithRun(bits, std::exchange(num_ranks, 0));
    }
    ++num_ranks;
  }
  return WithRun(bits, num_ranks);
}

std::uint64_t IslandLinkClass::OfUnordered(std::span<const network::GpuId> gpus) const {
  std::vector<Run> runs = RunsOf(gpus, gpus_per_island_);
  JoinIslands(runs);
  std::uint64_t bits = 0;
  for (const Run& run : runs) {
    bits = WithRun(bits, run.ranks);
  }
  return bits;
}

}  // namespace orrery::simulate
