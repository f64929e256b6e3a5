#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <optional>

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

namespace orrery::trace::orr {

/// Calls `work(context, index)` for each index below `count`, on `threads` threads (0: one for each
/// core). Indices are handed out in order, so heavy ones belong first. Each thread makes itself a
/// context with `make_context()` when it gets its first index.
template <typename MakeContext, typename Work>
void ForEachIndex(std::size_t count, int threads, MakeContext&& make_context, Work&& work) {
  // More threads than cores do not help, and TBB would complain on standard error.
  const int num_cores = tbb::info::default_concurrency();
  const int num_threads = threads > 0 ? std::min(threads, num_cores) : num_cores;
  std::atomic<std::size_t> next = 0;
  const auto drain = [&](int) {
    std::optional<decltype(make_context())> context;
    for (std::size_t index = next++; index < count; index = next++) {
      if (!context) {
        context.emplace(make_context());
      }
      work(*context, index);
    }
  };
  tbb::task_arena arena(num_threads);
  arena.execute([&] { tbb::parallel_for(0, num_threads, drain, tbb::simple_partitioner()); });
}

}  // namespace orrery::trace::orr
