#include "orrery/mcp/call_queue.h"

#include <atomic>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace orrery::mcp {
namespace {

void WaitFor(const std::atomic<bool>& flag) {
  flag.wait(false);
}

void Raise(std::atomic<bool>& flag) {
  flag = true;
  flag.notify_all();
}

// Ends when it is cancelled.
void RunUntil(const std::atomic<bool>& stop) {
  while (!stop) {
    std::this_thread::yield();
  }
}

TEST(CallQueueTest, RunsCallsInTheirOrder) {
  std::string order;
  CallQueue queue;
  for (const char name : {'a', 'b', 'c'}) {
    queue.Add(std::string(1, name), [&, name](const std::atomic<bool>&) { order += name; });
  }
  queue.Finish();

  EXPECT_EQ(order, "abc");
}

TEST(CallQueueTest, CancelStopsTheRunningCallAndOnlyThatOne) {
  std::atomic<bool> has_begun = false;
  bool was_cancelled = true;
  CallQueue queue;
  queue.Add(1, [&](const std::atomic<bool>& stop) {
    Raise(has_begun);
    RunUntil(stop);
  });
  queue.Add(2, [&](const std::atomic<bool>& stop) { was_cancelled = stop; });
  WaitFor(has_begun);
  queue.Cancel(1);
  queue.Cancel("none");
  queue.Finish();

  EXPECT_FALSE(was_cancelled);
}

TEST(CallQueueTest, WaitingCallThatIsCancelledNeverBegins) {
  bool has_run = false;
  CallQueue queue;
  queue.Add(1, RunUntil);
  queue.Add(2, [&](const std::atomic<bool>&) { has_run = true; });
  queue.Cancel(2);
  queue.Cancel(1);
  queue.Finish();

  EXPECT_FALSE(has_run);
}

TEST(CallQueueTest, EndOfTheQueueCancelsWhatIsLeft) {
  bool has_run = false;
  {
    CallQueue queue;
    queue.Add(1, RunUntil);
    queue.Add(2, [&](const std::atomic<bool>&) { has_run = true; });
  }
  EXPECT_FALSE(has_run);
}

}  // namespace
}  // namespace orrery::mcp
