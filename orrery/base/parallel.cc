#include "orrery/base/parallel.h"

#include <algorithm>
#include <cstddef>
#include <functional>

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

namespace orrery {

void ParallelFor(std::size_t count, int threads, const std::function<void(std::size_t)>& work) {
  if (threads == 1 || count <= 1) {
    for (std::size_t index = 0; index < count; ++index) {
      work(index);
    }
    return;
  }
  // More threads than cores gain nothing, and TBB would print a warning.
  const int cores = tbb::info::default_concurrency();
  tbb::task_arena arena(threads <= 0 ? cores : std::min(threads, cores));
  arena.execute([&] { tbb::parallel_for(std::size_t{0}, count, work); });
}

}  // namespace orrery
