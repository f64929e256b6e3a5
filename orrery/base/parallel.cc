#include "orrery/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <system_error>
#include <thread>
#include <vector>

#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

namespace orrery {
namespace {

// TBB throws in the middle of work when the system refuses a thread, so they are tried before.
int NumPossibleThreads() {
  const int cores = tbb::info::default_concurrency();
  std::atomic<bool> are_tried = false;
  std::vector<std::thread> threads;
  try {
    for (int thread = 1; thread < cores; ++thread) {
      threads.emplace_back([&] { are_tried.wait(false); });
    }
  } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): one too many, now known
  }
  are_tried = true;
  are_tried.notify_all();
  std::ranges::for_each(threads, &std::thread::join);
  return static_cast<int>(threads.size()) + 1;
}

}  // namespace

int NumThreads(int wanted) {
  static const int most = NumPossibleThreads();
  static const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                         static_cast<std::size_t>(most));
  // TBB prints a warning where an arena is wider than the limit.
  return wanted <= 0 ? most : std::min(wanted, most);
}

void ParallelFor(std::size_t count, int threads, const std::function<void(std::size_t)>& work) {
  if (threads == 1 || count <= 1) {
    for (std::size_t index = 0; index < count; ++index) {
      work(index);
    }
    return;
  }
  tbb::task_arena arena(NumThreads(threads));
  arena.execute([&] { tbb::parallel_for(std::size_t{0}, count, work); });
}

}  // namespace orrery
