#pragma once

#include "orrery/memory/uvm/page_mask.h"

namespace orrery::memory::uvm {

/// The driver's tree over the pages of one block.
struct PrefetchTree {
  int pages_per_block = 0;
  int pages_per_leaf = 0;
  int threshold_percent = 0;
};

/// Returns what the driver fetches when pages of a block fault: their leaves, and for each the
/// largest subtree around it of which more than the threshold is resident or wanted. Only pages of
/// `extent` exist; subtrees are as large as what exists of them.
[[nodiscard]] PageMask PagesToFetch(const PrefetchTree& tree, const PageMask& extent,
                                    const PageMask& resident, const PageMask& faulted);

}  // namespace orrery::memory::uvm
