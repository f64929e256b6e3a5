#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "orrery/base/document/value.h"

namespace orrery::mcp {

/// Runs calls on a thread of its own, one after the other, so that messages are read meanwhile.
class CallQueue {
 public:
  using Work = std::function<void(const std::atomic<bool>& stop)>;

  CallQueue();
  CallQueue(const CallQueue&) = delete;
  CallQueue& operator=(const CallQueue&) = delete;

  /// Cancels what is left.
  ~CallQueue();

  void Add(Value id, Work work);

  /// Sets the flag of a running call; a waiting one is never begun. Without such a call nothing
  /// happens: it may have ended meanwhile.
  void Cancel(const Value& id);

  /// Waits for the end of all calls.
  void Finish();

 private:
  struct Call {
    Call(Value of, Work what) : id(std::move(of)), work(std::move(what)) {}

    Value id;
    Work work;
    std::atomic<bool> stop = false;
  };

  void Run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Call> calls_;  // the first one runs; a deque leaves it in place
  bool is_closing_ = false;
  std::thread worker_;  // last: it uses the others
};

}  // namespace orrery::mcp
