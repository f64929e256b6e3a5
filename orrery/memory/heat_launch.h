#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "orrery/memory/byte_ranges.h"
#include "orrery/memory/heat.h"
#include "orrery/memory/heat_blocks.h"
#include "orrery/memory/heat_objects.h"
#include "orrery/memory/heat_windows.h"
#include "orrery/memory/lifetimes.h"
#include "orrery/memory/object_map.h"
#include "orrery/memory/recorded_work.h"

namespace orrery::memory {

/// Where accesses are counted: by object, by block and by window.
struct HeatCounts {
  std::int64_t block_bytes;
  HeatBlocks blocks = {};
  HeatObjects objects;
  HeatWindows windows;
  std::int64_t num_launches = 0;

  explicit HeatCounts(const HeatOptions& options)
      : block_bytes(options.block_bytes),
        objects(options.block_bytes, blocks),
        windows(options, blocks) {}
};

/// Counts the accesses of the kernels of one piece, asked in their order.
class LaunchHeat {
 public:
  LaunchHeat(const RecordedWork& work, HeatCounts& counts);
  LaunchHeat(const LaunchHeat&) = delete;
  LaunchHeat& operator=(const LaunchHeat&) = delete;

  /// Returns where the accesses of a kernel come from; nothing if none were counted.
  std::optional<HeatSource> Add(const WorkItem& item);

 private:
  // Accesses that lie somewhere in a range.
  struct SpreadAccesses {
    ByteRange range;
    RowId object = kNoRow;
    std::int64_t accesses = 0;
  };

  void AddLanes(const WorkItem& item);
  [[nodiscard]] bool AddPages(const WorkItem& item);
  void AddRun(RowId row, const WorkItem& item);
  [[nodiscard]] bool AreRunsInOrder();
  void ListPages(const WorkItem& item);
  void ListTouches(const WorkItem& item);
  void AddListed();
  void Add(const SpreadAccesses& spread);
  void Add(std::uint64_t block, LivingHeat& object, std::int64_t accesses);
  [[nodiscard]] RowId IfAlive(RowId object, const WorkItem& item) const;

  const RecordedWork& work_;
  const trace::Trace& trace_;
  HeatCounts& counts_;
  Lifetimes lifetimes_;
  ObjectMap owners_;
  std::vector<SpreadAccesses> listed_;  // of the launch at hand
  std::vector<RowId> runs_;
};

}  // namespace orrery::memory
