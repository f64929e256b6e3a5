#include "orrery/base/concurrency/parallel.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

#include <pthread.h>
#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include "orrery/base/concurrency/stop.h"

#ifdef ORRERY_SANITIZES_THREADS
#include <mutex>
#endif

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

// Threads do not survive a fork. TBB does not know that: a child would wait for those of its
// parent.
std::atomic<bool> has_had_threads = false;
std::atomic<bool> has_lost_threads = false;

void WatchForks() {
  [[maybe_unused]] static const int registered =
      pthread_atfork(nullptr, nullptr, [] { has_lost_threads = has_had_threads.load(); });
  has_had_threads = true;
}

#ifdef ORRERY_SANITIZES_THREADS

// Libraries are not instrumented, so the thread sanitizer does not see how TBB hands work from
// thread to thread and takes it for a race. Plain threads do the same work there.
void OnThreads(int threads, const std::function<void()>& work) {
  std::vector<std::thread> others;
  for (int thread = 1; thread < threads; ++thread) {
    others.emplace_back(work);
  }
  work();
  std::ranges::for_each(others, &std::thread::join);
}

void SpreadOverThreads(std::size_t count, int threads,
                       const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  OnThreads(threads, [&] {
    for (std::size_t index = next++; index < count; index = next++) {
      work(index);
    }
  });
}

// A thread keeps its piece until those before it are collected.
void SpreadPipeline(int threads, const PipelineStages& stages) {
  std::mutex next_mutex;
  std::size_t taken = 0;
  std::atomic<std::size_t> collected = 0;
  OnThreads(threads, [&] {
    while (true) {
      std::unique_lock lock(next_mutex);
      const std::shared_ptr<void> piece = stages.next();
      const std::size_t turn = taken;
      taken += piece == nullptr ? 0 : 1;
      lock.unlock();
      if (piece == nullptr) {
        return;
      }
      stages.work(piece.get());
      for (std::size_t done = collected; done != turn; done = collected) {
        collected.wait(done);
      }
      stages.collect(piece.get());
      ++collected;
      collected.notify_all();
    }
  });
}

#else

void SpreadOverThreads(std::size_t count, int threads,
                       const std::function<void(std::size_t)>& work) {
  tbb::task_arena arena(threads);
  arena.execute([&] { tbb::parallel_for(std::size_t{0}, count, work); });
}

void SpreadPipeline(int threads, const PipelineStages& stages) {
  using Piece = std::shared_ptr<void>;
  const auto next = [&](tbb::flow_control& control) {
    Piece piece = stages.next();
    if (piece == nullptr) {
      control.stop();
    }
    return piece;
  };
  const auto work = [&](Piece piece) {
    stages.work(piece.get());
    return piece;
  };
  const auto collect = [&](const Piece& piece) { stages.collect(piece.get()); };
  tbb::task_arena arena(threads);
  arena.execute([&] {
    using enum tbb::filter_mode;
    tbb::parallel_pipeline(static_cast<std::size_t>(threads) + 1,
                           tbb::make_filter<void, Piece>(serial_in_order, next) &
                               tbb::make_filter<Piece, Piece>(parallel, work) &
                               tbb::make_filter<Piece, void>(serial_in_order, collect));
  });
}

#endif

void RunOnOneThread(const PipelineStages& stages) {
  for (std::shared_ptr<void> piece = stages.next(); piece != nullptr; piece = stages.next()) {
    stages.work(piece.get());
    stages.collect(piece.get());
  }
}

// Catches Stopped from nested work, so that all threads end before it is thrown to the caller.
template <typename Work>
void ExceptStopped(const Work& work) {
  try {
    work();
  } catch (const Stopped&) {  // NOLINT(bugprone-empty-catch): ThrowIfStopped follows
  }
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
  const std::atomic<bool>* const flag = StopScope::flag();
  const auto work_or_stop = [&](std::size_t index) {
    const StopScope scope(flag);
    if (!ShouldStop()) {
      ExceptStopped([&] { work(index); });
    }
  };
  if (threads == 1 || count <= 1 || has_lost_threads) {
    for (std::size_t index = 0; index < count; ++index) {
      work_or_stop(index);
    }
  } else {
    WatchForks();
    SpreadOverThreads(count, NumThreads(threads), work_or_stop);
  }
  ThrowIfStopped();
}

void RunPipeline(int threads, const PipelineStages& stages) {
  const std::atomic<bool>* const flag = StopScope::flag();
  const auto next = [&]() -> std::shared_ptr<void> {
    const StopScope scope(flag);
    return ShouldStop() ? nullptr : stages.next();
  };
  const auto work = [&](void* piece) {
    const StopScope scope(flag);
    ExceptStopped([&] { stages.work(piece); });
  };
  if (has_lost_threads) {
    RunOnOneThread({next, work, stages.collect});
  } else {
    WatchForks();
    SpreadPipeline(NumThreads(threads), {next, work, stages.collect});
  }
  ThrowIfStopped();
}

}  // namespace orrery
