#include "orrery/memory/uvm/prefetch_tree.h"

namespace orrery::memory::uvm {
namespace {

PageMask LeavesOf(const PrefetchTree& tree, const PageMask& pages) {
  PageMask leaves;
  for (int begin = 0; begin < tree.pages_per_block; begin += tree.pages_per_leaf) {
    const PageMask leaf = PageMask::Range(begin, begin + tree.pages_per_leaf);
    if ((leaf & pages).any()) {
      leaves |= leaf;
    }
  }
  return leaves;
}

}  // namespace

PageMask PagesToFetch(const PrefetchTree& tree, const PageMask& extent, const PageMask& resident,
                      const PageMask& faulted) {
  const PageMask wanted = LeavesOf(tree, faulted) & extent;
  const PageMask present = wanted | resident;
  PageMask fetched = wanted;
  for (int size = 2 * tree.pages_per_leaf; size <= tree.pages_per_block; size *= 2) {
    for (int begin = 0; begin < tree.pages_per_block; begin += size) {
      const PageMask subtree = PageMask::Range(begin, begin + size) & extent;
      const bool has_fault = (subtree & wanted).any();
      if (has_fault &&
          (subtree & present).count() * 100 > subtree.count() * tree.threshold_percent) {
        fetched |= subtree;
      }
    }
  }
  return fetched.Without(resident);
}

}  // namespace orrery::memory::uvm
