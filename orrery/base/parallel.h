#pragma once

#include <cstddef>
#include <functional>

namespace orrery {

/// Calls `work(i)` for every i below `count` on at most `threads` threads (0: one for each core,
/// which is also the most) and returns when all are done. The order is free, so `work(i)` writes
/// only to what belongs to i; then the result is the same for any number of threads. `work` must
/// not throw.
void ParallelFor(std::size_t count, int threads, const std::function<void(std::size_t)>& work);

}  // namespace orrery
