#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include <benchmark/benchmark.h>

#include "capture/sanitizer/analysis/attribution.h"
#include "capture/sanitizer/device/layout.h"
#include "capture/sanitizer/device/warp.h"

// Lanes attributed to objects a second, on one core: as published, with a search for each lane, and
// ours. The second argument is the pattern of accesses, all three methods see the same.

namespace orrery::capture {
namespace {

enum Pattern : std::int64_t { kAsRules, kWrittenOut, kGathered, kOverObjects };

constexpr std::uint64_t kObjectBytes = 1U << 20U;

std::vector<Range> Objects(std::int64_t count) {
  std::vector<Range> ranges;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t begin = 0x7f0000000000U + static_cast<std::uint64_t>(i) * 2 * kObjectBytes;
    ranges.push_back({begin, begin + kObjectBytes});
  }
  return ranges;
}

std::uint64_t AddressOf(const StreamedAccess& access, std::uint64_t lane, Pattern pattern,
                        const Range& range, std::mt19937_64& random) {
  if (pattern == kAsRules || pattern == kWrittenOut) {
    return access.address + lane * 4;
  }
  return range.begin + random() % kObjectBytes / 4 * 4;
}

// A kernel of three operands: instruction k works on one of them for a while, then on another.
std::vector<StreamedAccess> Accesses(const std::vector<Range>& ranges, Pattern pattern,
                                     std::size_t count) {
  std::mt19937_64 random(7);
  std::vector<StreamedAccess> accesses(count);
  for (std::size_t i = 0; i < count; ++i) {
    StreamedAccess& access = accesses[i];
    const Range range = ranges[(i / 30 * 3 + i % 3) * 37 % ranges.size()];
    access = {.address = range.begin + i % 1000 * 128,
              .active = 0xffffffffU,
              .stride = pattern == kAsRules ? 4 : kGeneralStride,
              .bytes = 4,
              .flags = i % 3 == 2 ? 2U : 1U,
              .pc = static_cast<std::uint32_t>(i % 3)};
    for (std::uint64_t lane = 0; lane < kNumLanes; ++lane) {
      access.addresses[lane] =
          AddressOf(access, lane, pattern,
                    pattern == kOverObjects ? ranges[random() % ranges.size()] : range, random);
    }
  }
  return accesses;
}

void Report(benchmark::State& state, std::size_t accesses) {
  state.counters["lanes"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * static_cast<double>(accesses * kNumLanes),
      benchmark::Counter::kIsRate);
}

/// Attribution as a published profiler does it on the CPU, to compare with: for each lane a walk
/// over a map of shared pointers, each of them copied.
class PointerWalk {
 public:
  explicit PointerWalk(const std::vector<Range>& ranges) {
    for (const Range& range : ranges) {
      objects_.emplace(range.begin, std::make_shared<Object>(Object{.range = range}));
    }
  }

  void Add(std::span<const std::uint64_t> lanes) {
    for (const std::uint64_t address : lanes) {
      for (auto entry : objects_) {  // NOLINT(performance-for-range-copy): the copy is the point
        const std::shared_ptr<Object> object = entry.second;
        if (object->range.begin <= address && address < object->range.end) {
          ++object->accesses;
          break;
        }
      }
    }
  }

  [[nodiscard]] std::uint64_t NumAttributed() const {
    std::uint64_t total = 0;
    for (const auto& [begin, object] : objects_) {
      total += object->accesses;
    }
    return total;
  }

 private:
  struct Object {
    Range range;
    std::uint64_t accesses = 0;
  };

  std::map<std::uint64_t, std::shared_ptr<Object>> objects_;
};

void BM_PointerWalk(benchmark::State& state) {
  const std::vector<Range> ranges = Objects(state.range(0));
  const auto accesses = Accesses(ranges, static_cast<Pattern>(state.range(1)), 1'000);
  PointerWalk walk(ranges);
  for (auto _ : state) {
    for (const StreamedAccess& access : accesses) {
      walk.Add(access.addresses);
    }
  }
  benchmark::DoNotOptimize(walk.NumAttributed());
  Report(state, accesses.size());
}

std::size_t SlotOf(const std::vector<Range>& ranges, std::uint64_t address) {
  const auto after = std::ranges::upper_bound(ranges, address, {}, &Range::begin);
  const bool is_inside = after != ranges.begin() && address < std::prev(after)->end;
  return is_inside ? static_cast<std::size_t>(after - ranges.begin()) : kUnknownSlot;
}

void BM_SearchForEachLane(benchmark::State& state) {
  const std::vector<Range> ranges = Objects(state.range(0));
  const auto accesses = Accesses(ranges, static_cast<Pattern>(state.range(1)), 30'000);
  std::vector<std::uint64_t> bytes(ranges.size() + 1);
  for (auto _ : state) {
    for (const StreamedAccess& access : accesses) {
      for (const std::uint64_t address : access.addresses) {
        bytes[SlotOf(ranges, address)] += access.bytes;
      }
    }
  }
  benchmark::DoNotOptimize(bytes.data());
  Report(state, accesses.size());
}

void BM_Attribution(benchmark::State& state) {
  const std::vector<Range> ranges = Objects(state.range(0));
  const auto accesses = Accesses(ranges, static_cast<Pattern>(state.range(1)), 30'000);
  Attribution attribution({.ranges = ranges});
  for (auto _ : state) {
    for (const StreamedAccess& access : accesses) {
      attribution.Add(access);
    }
  }
  benchmark::DoNotOptimize(attribution.counters().data());
  Report(state, accesses.size());
}

BENCHMARK(BM_PointerWalk)->ArgsProduct({{300, 1000}, {kWrittenOut}});
BENCHMARK(BM_SearchForEachLane)->ArgsProduct({{300, 1000}, {kWrittenOut, kGathered, kOverObjects}});
BENCHMARK(BM_Attribution)
    ->ArgsProduct({{300, 1000}, {kAsRules, kWrittenOut, kGathered, kOverObjects}});

}  // namespace
}  // namespace orrery::capture
