#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace orrery {

/// Returns the number of threads to use if `wanted` are requested (0: as many as possible): at most
/// the number of cores, and at most what the system allows the program (`ulimit -u`, the limit of
/// a container).
[[nodiscard]] int NumThreads(int wanted);

/// Calls `work(i)` for every i below `count` on NumThreads(threads) threads and returns when all
/// are done. The order is free, so `work(i)` writes only to what belongs to i; then the result is
/// the same for any number of threads. `work` must not throw anything but Stopped (base/stop.h),
/// which ParallelFor and RunPipeline throw themselves, after all threads have ended. In a child of
/// a process that had threads, which fork does not copy, both use one.
void ParallelFor(std::size_t count, int threads, const std::function<void(std::size_t)>& work);

/// The stages of a pipeline over pieces of any type.
struct PipelineStages {
  std::function<std::shared_ptr<void>()> next;  // one call at a time, until it returns null
  std::function<void(void*)> work;              // several at once
  std::function<void(void*)> collect;           // one call at a time, in the order of `next`
};

/// Runs the stages on NumThreads(threads) threads, with at most one piece more than threads alive.
void RunPipeline(int threads, const PipelineStages& stages);

}  // namespace orrery
