#pragma once

#include <cstdint>
#include <vector>

#include "capture/recorder/recorder.h"
#include "capture/sanitizer/host/launch_block.h"

namespace orrery::capture::sanitizer {

/// What a launch did to one object, all shards and ranges together.
struct ObjectCounts {
  std::uint64_t object = 0;  // 0: addresses that no object owns
  std::uint64_t read_bytes = 0;
  std::uint64_t write_bytes = 0;
  std::uint64_t atomic_bytes = 0;
  std::uint64_t sectors = 0;
  std::uint64_t lanes = 0;
  std::uint64_t warps = 0;
};

/// Adds the counters up, by object in ascending order; objects that were not touched are left out.
[[nodiscard]] std::vector<ObjectCounts> CountsOf(const ObjectSnapshot& objects,
                                                 std::span<const SlotCounters> counters);

/// How well a launch was seen, by what was counted and what it was given.
///
/// Patches do not see loads and stores through tensor maps. A kernel that is known to have none was
/// seen in full. Of others, what they can reach is among their parameters. So a launch that was
/// given an object, and has no counted access to it, is not called exact: `by argument` where
/// nothing at all was counted (`by descriptor` if all it was given came as tensor maps), else
/// `partial`; so is a launch whose parameters could not be read. A kernel that ignores one of its
/// pointers may thereby be called partial too; the other way round, a tool would take silence for
/// "not used". Where only some blocks were looked at, all is partial.
[[nodiscard]] std::uint64_t CoverageOf(const PendingLaunch& launch,
                                       const std::vector<ObjectCounts>& counts);

/// Writes a launch's touches, pages, arguments without counted accesses, unknown addresses and its
/// end. `is_cut`: some of its accesses were dropped. Launches that count with it have nothing but
/// arguments and their ends; all of them are partial, since nobody can say what each did.
void WriteResults(Recorder& recorder, const PendingLaunch& launch, const BlockResults& results,
                  bool is_cut);

/// Writes that the results of a launch, and of those that count with it, could not be read.
void WriteLost(Recorder& recorder, const PendingLaunch& launch);

}  // namespace orrery::capture::sanitizer
