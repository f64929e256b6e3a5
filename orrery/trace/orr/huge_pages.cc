#include "orrery/trace/orr/huge_pages.h"

#include <cstdint>

#include <sys/mman.h>

namespace orrery::trace::orr {

void AdviseHugePages(const void* data, std::size_t bytes) {
  constexpr std::uintptr_t kPage = 2 << 20;
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t first = (begin + kPage - 1) / kPage * kPage;
  const std::uintptr_t last = (begin + bytes) / kPage * kPage;
  if (first < last) {
    // A hint: a system without large pages refuses, and nothing is lost.
    (void)madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
  }
}

}  // namespace orrery::trace::orr
