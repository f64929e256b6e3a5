#pragma once

#include <array>
#include <cstddef>

#include "orrery/memory/live_objects.h"
#include "orrery/memory/recorded_work.h"
#include "orrery/trace/trace.h"

namespace orrery::memory {

/// The granularity of a working set. At each level a byte counts once, and only inside objects that
/// are alive when the launch begins.
enum class WorkingSetLevel : std::uint8_t {
  kAllocation,  // whole allocations, outermost, that contain something touched
  kObject,      // whole objects touched, innermost: tensors where they are known
  kPage,        // pages touched, clipped to their objects
  kSector,      // sectors of 512 bytes or less, clipped to their objects
  kByte,        // bytes of single accesses, memcpys and memsets
  kReach,       // upper bound: objects touched or passed as arguments
};

inline constexpr std::size_t kNumWorkingSetLevels = 6;

[[nodiscard]] std::string_view WorkingSetLevelName(WorkingSetLevel level);

/// The memory that one launch, memcpy or memset used.
struct UsedMemory {
  trace::Coverage coverage = trace::Coverage::kUnseen;
  bool is_kernel = false;
  Footprint footprint = {};
  std::array<std::int64_t, kNumWorkingSetLevels> level_bytes = {};  // -1: not recorded
  std::int64_t read_bytes = 0;  // issued; data that are read again count again
  std::int64_t write_bytes = 0;
  std::int64_t unowned_bytes = 0;  // of these, to addresses that no live object owns

  [[nodiscard]] std::int64_t At(WorkingSetLevel level) const {
    return level_bytes[static_cast<std::size_t>(level)];
  }

  bool operator==(const UsedMemory&) const = default;
};

/// Computes the memory that launches, memcpys and memsets of a trace used, in their order. Pages
/// smaller than `page_bytes` count as pages of that size. The upper bound exists for launches with
/// arguments that point to objects, and is not part of any other level.
class UseWalk {
 public:
  /// Keeps a reference to the work.
  UseWalk(const RecordedWork& work, std::int64_t page_bytes);
  UseWalk(const UseWalk&) = delete;
  UseWalk& operator=(const UseWalk&) = delete;

  [[nodiscard]] UsedMemory Of(const WorkItem& item);

 private:
  using Place = ObjectsByAddress::Place;

  // Ranges of one item at one level, and whether anything of the kind was recorded.
  struct LevelRanges {
    std::vector<ByteRange> ranges = {};
    bool is_recorded = false;

    void Add(const ByteRange& range);
    [[nodiscard]] std::int64_t TakeSize();
  };

  void AddTouches(const WorkItem& item, UsedMemory& used);
  void AddPages(const WorkItem& item);
  void AddAccesses(const WorkItem& item);
  void SetLevels(const WorkItem& item, UsedMemory& used);
  [[nodiscard]] std::int64_t AllocationBytes(std::int64_t order);

  const RecordedWork& work_;
  const trace::Trace& trace_;
  std::int64_t page_bytes_;
  Lifetimes lifetimes_;
  ObjectsByAddress objects_;
  FootprintWalk footprint_;
  ObjectMap owners_;

  // Of the current item; kept to reuse their memory.
  std::vector<Place> touched_;
  std::vector<Place> reachable_;
  std::vector<Place> around_;
  LevelRanges pages_;
  LevelRanges sectors_;
  LevelRanges bytes_;
};

}  // namespace orrery::memory
