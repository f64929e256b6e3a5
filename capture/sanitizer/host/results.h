#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "capture/recorder/recorder.h"
#include "capture/sanitizer/host/object_table.h"
#include "capture/sanitizer/host/launch/pending_launches.h"
#include "orrery/stream/schema.h"

namespace orrery::capture::sanitizer {

/// Pages that were touched, [first, first + count).
struct PageRun {
  std::uint64_t first = 0;
  std::uint64_t count = 0;

  bool operator==(const PageRun&) const = default;
};

/// Appends the touched pages of one range, by the bits that the patches set. Ranges come in
/// ascending order; a page that the last range ended in is not counted again.
void AppendTouchedPages(const ObjectSnapshot& objects, std::size_t range,
                        std::span<const std::uint32_t> page_bits, std::vector<PageRun>& runs);

/// The pages of a record: as runs or as bits, whichever is smaller. Owns what its record shows.
class EncodedPages {
 public:
  explicit EncodedPages(std::span<const PageRun> runs);

  /// Fills in form, first page and pages.
  void FillIn(stream::PageTouch& record) const;

 private:
  std::uint64_t first_page_ = 0;
  std::vector<std::uint64_t> numbers_;
  std::string bitmap_;  // empty: the numbers are smaller
};

/// Adds the counters up by object, all shards and ranges together, in ascending order; object 0 is
/// for addresses that no object owns, objects that were not touched are left out.
[[nodiscard]] std::vector<stream::Touch> CountsOf(const ObjectSnapshot& objects,
                                                  std::span<const SlotCounters> counters);

/// Returns the coverage of a launch, from its counters and its arguments.
///
/// Patches do not see loads and stores through tensor maps. A kernel that is known to have none was
/// seen in full. Of others, what they can reach is among their parameters. So a launch that was
/// given an object, and has no counted access to it, is not called exact: `by argument` where
/// nothing at all was counted (`by descriptor` if all it was given came as tensor maps), else
/// `partial`; so is a launch whose parameters could not be read. A kernel that ignores one of its
/// pointers may thereby be called partial too; the other way round, a tool would take silence for
/// "not used". Where only some blocks were looked at, all is partial.
[[nodiscard]] std::uint64_t CoverageOf(const PendingLaunch& launch,
                                       const std::vector<stream::Touch>& counts);

/// Writes a launch's touches, pages, arguments without counted accesses, unknown addresses and its
/// end. `is_cut`: some of its accesses were dropped. Launches that count with it have nothing but
/// arguments and their ends; all of them are partial, since the part of each is unknown.
void WriteResults(Recorder& recorder, const PendingLaunch& launch, const BlockResults& results,
                  bool is_cut);

/// Writes that the results of a launch, and of those that count with it, could not be read.
void WriteLost(Recorder& recorder, const PendingLaunch& launch);

}  // namespace orrery::capture::sanitizer
