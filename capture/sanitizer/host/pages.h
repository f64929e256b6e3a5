#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "capture/sanitizer/host/object_table.h"
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

}  // namespace orrery::capture::sanitizer
