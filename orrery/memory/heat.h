#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/trace/trace.h"

namespace orrery::memory {

/// What a window of time is measured in.
enum class WindowUnit : std::uint8_t { kAccesses, kLaunches, kNanoseconds };

[[nodiscard]] std::string_view WindowUnitName(WindowUnit unit);

/// Where the places of accesses come from, the best that a launch has.
enum class HeatSource : std::uint8_t {
  kAccesses,  // single accesses: each lane at its address
  kPages,     // counts of pages, spread evenly over each page
  kTouches,   // counts of objects, spread evenly over each object
};

inline constexpr std::size_t kNumHeatSources = 3;

[[nodiscard]] std::string_view HeatSourceName(HeatSource source);

struct HeatOptions {
  std::int64_t block_bytes = 2 << 20;
  WindowUnit unit = WindowUnit::kAccesses;
  std::int64_t window = 1'000'000;
};

/// Accesses to a block of addresses in a window of time; cells without any are left out.
struct HeatCell {
  std::uint32_t block = 0;  // of HeatMap::blocks
  std::uint32_t window = 0;
  std::int64_t accesses = 0;

  bool operator==(const HeatCell&) const = default;
};

/// A block with accesses, and the object that most of them went to.
struct HeatBlock {
  std::uint64_t address = 0;
  std::int64_t accesses = 0;
  trace::RowId object = trace::kNoRow;
  std::int64_t num_objects = 0;  // that were accessed here

  bool operator==(const HeatBlock&) const = default;
};

/// Accesses to one object; kNoRow: to addresses that no object owns.
struct ObjectHeat {
  trace::RowId object = trace::kNoRow;
  std::int64_t accesses = 0;
  std::int64_t num_launches = 0;  // that accessed it

  bool operator==(const ObjectHeat&) const = default;
};

/// Accesses of kernels over addresses and time. An access is one of one lane. All cells together
/// are all accesses, also those of the last window, which may be shorter than the others.
struct AccessHeat {
  std::int64_t total_accesses = 0;
  std::uint32_t num_windows = 0;
  std::vector<HeatBlock> blocks = {};    // in order of address
  std::vector<HeatCell> cells = {};      // in order of block, then window
  std::vector<ObjectHeat> objects = {};  // most accesses first, ties by row
  std::array<std::int64_t, kNumHeatSources> source_accesses = {};
  std::int64_t num_without_counts = 0;  // kernels of which no accesses were counted

  bool operator==(const AccessHeat&) const = default;
};

/// Counts the accesses. Inside one launch they come in the order of records, where there are any,
/// else in order of address. Sizes of blocks and windows must be above zero; so small a window that
/// there would be more than a million of them is refused.
[[nodiscard]] Result<AccessHeat> HeatOf(const trace::Trace& trace, const HeatOptions& options);

}  // namespace orrery::memory
