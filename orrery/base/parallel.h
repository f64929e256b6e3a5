#pragma once

#include <cstddef>
#include <functional>

namespace orrery {

/// How many threads to use where `wanted` are asked for (0: as many as possible): no more than
/// there are cores, and than the system lets the program have (`ulimit -u`, the limit of a
/// container).
[[nodiscard]] int NumThreads(int wanted);

/// Calls `work(i)` for every i below `count` on NumThreads(threads) threads and returns when all
/// are done. The order is free, so `work(i)` writes only to what belongs to i; then the result is
/// the same for any number of threads. `work` must not throw.
void ParallelFor(std::size_t count, int threads, const std::function<void(std::size_t)>& work);

}  // namespace orrery
