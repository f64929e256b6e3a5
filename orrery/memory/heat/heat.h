#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>

#include "orrery/base/error.h"
#include "orrery/trace/trace.h"

namespace orrery::memory {

/// The unit of windows.
enum class WindowUnit : std::uint8_t { kAccesses, kLaunches, kNanoseconds };

[[nodiscard]] std::string_view WindowUnitName(WindowUnit unit);

/// The source of addresses of accesses, the most precise one that a launch has.
enum class HeatSource : std::uint8_t {
  kAccesses,  // single accesses: each lane at its address
  kPages,     // counts of pages, spread evenly over each page
  kTouches,   // counts of objects, spread evenly over each object
};

inline constexpr std::size_t kNumHeatSources = 3;

[[nodiscard]] std::string_view HeatSourceName(HeatSource source);

struct HeatOptions {
  static constexpr std::int64_t kFirstWindow = 1'000'000;

  std::int64_t block_bytes = 2 << 20;
  WindowUnit unit = WindowUnit::kAccesses;
  /// Without one, windows have kFirstWindow, and double until there are few enough of them and of
  /// cells.
  std::optional<std::int64_t> window = std::nullopt;
};

/// Accesses to a block of addresses in a window of time; cells without any are left out.
struct HeatCell {
  std::uint32_t block = 0;  // of AccessHeat::blocks
  std::uint32_t window = 0;
  std::int64_t accesses = 0;

  bool operator==(const HeatCell&) const = default;
};

/// The number of an object: objects count up from 0 as they appear in pieces, those of one piece in
/// order of row. Of a whole trace it is the row.
using ObjectNumber = std::uint32_t;

inline constexpr ObjectNumber kNoObject = kNoRow;

/// A block with accesses, and the object that most of them went to.
struct HeatBlock {
  std::uint64_t address = 0;
  std::int64_t accesses = 0;
  ObjectNumber object = kNoObject;
  std::int64_t num_objects = 0;  // that were accessed here

  bool operator==(const HeatBlock&) const = default;
};

/// Accesses to one object; kNoObject: to addresses that no live object owns.
struct ObjectHeat {
  ObjectNumber object = kNoObject;
  std::int64_t accesses = 0;
  std::int64_t num_launches = 0;  // that accessed it

  bool operator==(const ObjectHeat&) const = default;
};

/// An object for reports.
struct DescribedObject {
  ObjectNumber object = kNoObject;
  std::string name;   // or the operator that allocated it
  std::string label;  // the name with the object's number
  trace::MemoryClass memory_class = trace::MemoryClass::kUnknown;
  std::int64_t bytes = 0;

  bool operator==(const DescribedObject&) const = default;
};

/// Accesses of kernels over addresses and time. An access is one of one lane. All cells together
/// are all accesses, also those of the last window, which may be shorter than the others.
struct AccessHeat {
  static constexpr std::size_t kMostObjects = 10'000;

  std::int64_t total_accesses = 0;
  std::int64_t window = HeatOptions::kFirstWindow;
  std::uint32_t num_windows = 0;
  std::vector<HeatBlock> blocks = {};  // in order of address
  std::vector<HeatCell> cells = {};    // in order of block, then window
  std::int64_t num_objects = 0;        // that were accessed
  /// At most kMostObjects; most accesses first, ties by number.
  std::vector<ObjectHeat> objects = {};
  std::vector<DescribedObject> described = {};  // those of blocks and objects, in order of number
  std::array<std::int64_t, kNumHeatSources> source_accesses = {};
  std::int64_t num_without_counts = 0;  // kernels of which no accesses were counted

  /// Returns nothing for kNoObject.
  [[nodiscard]] const DescribedObject* Find(ObjectNumber object) const;

  bool operator==(const AccessHeat&) const = default;
};

/// Takes a recording in pieces, in the order of events, and counts the accesses. Inside one launch
/// they come in the order of records, where there are any, else in order of address. Time counts
/// from the begin of the first launch, copy or set; what began before it is in the first window.
/// Keeps only the cells and the live objects of earlier pieces.
class HeatCounter {
 public:
  /// Sizes of blocks and windows must be above zero.
  explicit HeatCounter(const HeatOptions& options);
  HeatCounter(const HeatCounter&) = delete;
  HeatCounter& operator=(const HeatCounter&) = delete;
  ~HeatCounter();

  /// Fails where windows are so small that there are more than a million of them.
  [[nodiscard]] Status Add(const trace::Trace& piece);

  /// After the last piece.
  [[nodiscard]] AccessHeat Finish();

 private:
  struct Counts;
  class LaunchHeat;

  std::unique_ptr<Counts> counts_;
};

}  // namespace orrery::memory
