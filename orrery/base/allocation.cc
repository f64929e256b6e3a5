#include "orrery/base/allocation.h"

#include <malloc.h>

namespace orrery {

void ReturnFreedMemoryEarly() {
  constexpr int kLargestKeptBytes = 1 << 20;
  mallopt(M_MMAP_THRESHOLD, kLargestKeptBytes);
}

}  // namespace orrery
