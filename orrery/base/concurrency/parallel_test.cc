#include "orrery/base/concurrency/parallel.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "orrery/base/concurrency/stop.h"

namespace orrery {
namespace {

class ParallelForTest : public ::testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Threads, ParallelForTest, ::testing::Values(0, 1, 2, 7));

TEST_P(ParallelForTest, EveryIndexIsWorkedOnOnceAndLandsInItsPlace) {
  std::vector<std::size_t> squares(10'000);
  std::atomic<int> calls = 0;

  ParallelFor(squares.size(), GetParam(), [&](std::size_t index) {
    squares[index] = index * index;
    ++calls;
  });

  EXPECT_EQ(calls, 10'000);
  for (std::size_t index = 0; index < squares.size(); ++index) {
    ASSERT_EQ(squares[index], index * index);
  }
}

TEST_P(ParallelForTest, NothingToDoIsDone) {
  ParallelFor(0, GetParam(), [](std::size_t) { FAIL(); });
}

TEST_P(ParallelForTest, WorkMayBeSplitFurther) {
  std::atomic<int> calls = 0;

  ParallelFor(8, GetParam(),
              [&](std::size_t) { ParallelFor(8, GetParam(), [&](std::size_t) { ++calls; }); });

  EXPECT_EQ(calls, 64);
}

class PipelineTest : public ::testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Threads, PipelineTest, ::testing::Values(0, 1, 2, 7));

TEST_P(PipelineTest, PiecesAreWorkedOnOnceAndCollectedInOrder) {
  int cut = 0;
  std::vector<int> collected;
  RunPipeline(GetParam(),
              {.next = [&]() -> std::shared_ptr<void> {
                 return cut == 1'000 ? nullptr : std::make_shared<int>(cut++);
               },
               .work = [](void* piece) { *static_cast<int*>(piece) *= 2; },
               .collect = [&](void* piece) { collected.push_back(*static_cast<int*>(piece)); }});

  ASSERT_EQ(collected.size(), 1'000U);
  for (int piece = 0; piece < 1'000; ++piece) {
    ASSERT_EQ(collected[static_cast<std::size_t>(piece)], 2 * piece);
  }
}

// Leaves less memory than the stack of a thread takes: the system refuses every thread.
void RefuseThreads() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t limit = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + (6 << 20);
  const rlimit memory = {.rlim_cur = limit, .rlim_max = limit};
  setrlimit(RLIMIT_AS, &memory);
}

TEST(NumThreadsTest, WhereThreadsAreRefusedOneDoesAll) {
#ifdef ORRERY_SANITIZES
  GTEST_SKIP() << "sanitizers end a program that cannot have a thread";
#endif
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process that has had no thread yet
  const auto work = [] {
    RefuseThreads();
    std::vector<int> done(100);
    ParallelFor(done.size(), 8, [&](std::size_t index) { done[index] = 1; });
    std::_Exit(NumThreads(0) == 1 && done == std::vector<int>(100, 1) ? 0 : 1);
  };
  EXPECT_EXIT(work(), ::testing::ExitedWithCode(0), "^$");
}

TEST(NumThreadsTest, NoMoreThanThereAreCores) {
  EXPECT_EQ(NumThreads(1), 1);
  EXPECT_GE(NumThreads(0), 1);
  EXPECT_EQ(NumThreads(1'000'000), NumThreads(0));
}

// The flag is set by the first piece of work: nested work and all later pieces are skipped.
TEST(StopTest, ParallelForEndsEarly) {
  for (const int threads : {1, 2}) {
    std::atomic<bool> flag = false;
    std::atomic<int> begun = 0;
    const StopScope scope(&flag);
    EXPECT_THROW(ParallelFor(1000, threads,
                             [&](std::size_t) {
                               ++begun;
                               flag = true;
                               ParallelFor(2, 1, [](std::size_t) { FAIL() << "begun after stop"; });
                             }),
                 Stopped);
    EXPECT_LE(begun, threads);
  }
}

// The child does not have the threads of its parent. If it waited for them, an alarm would end it.
TEST(ParallelTest, AForkedChildOfAProcessWithThreadsGoesOn) {
  const auto sum = [] {
    std::atomic<std::size_t> total = 0;
    ParallelFor(1000, 8, [&](std::size_t i) { total += i; });
    int left = 100;
    RunPipeline(8, {.next = [&]() -> std::shared_ptr<void> {
                      return left-- > 0 ? std::make_shared<int>(left) : nullptr;
                    },
                    .work = [](void* piece) { *static_cast<int*>(piece) *= 2; },
                    .collect =
                        [&](void* piece) {
                          total += static_cast<std::size_t>(*static_cast<int*>(piece));
                        }});
    return total.load();
  };
  const std::size_t expected = 999 * 1000 / 2 + 2 * 99 * 100 / 2;
  ASSERT_EQ(sum(), expected);
  for (int child = 0; child < 20; ++child) {
    const pid_t id = fork();
    ASSERT_GE(id, 0);
    if (id == 0) {
      alarm(20);
      _exit(sum() == expected ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(id, &status, 0), id);
    ASSERT_EQ(status, 0);
  }
}

TEST(StopTest, APipelineEndsEarly) {
  std::atomic<bool> flag = false;
  const StopScope scope(&flag);
  int taken = 0;
  const PipelineStages stages{.next = [&]() -> std::shared_ptr<void> {
                                flag = true;
                                return ++taken < 1000 ? std::make_shared<int>(taken) : nullptr;
                              },
                              .work = [](void*) {},
                              .collect = [](void*) {}};
  EXPECT_THROW(RunPipeline(2, stages), Stopped);
  EXPECT_EQ(taken, 1);
}

TEST(StopTest, OtherThreadsGoOn) {
  std::atomic<bool> flag = true;
  const StopScope scope(&flag);
  bool should_stop = true;
  std::thread([&] { should_stop = ShouldStop(); }).join();
  EXPECT_FALSE(should_stop);
  EXPECT_TRUE(ShouldStop());
}

}  // namespace
}  // namespace orrery
