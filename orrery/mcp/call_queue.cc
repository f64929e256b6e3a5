#include "orrery/mcp/call_queue.h"

#include <mutex>
#include <thread>
#include <utility>

#include "orrery/base/document/value.h"

namespace orrery::mcp {

CallQueue::CallQueue() : worker_([this] { Run(); }) {}

CallQueue::~CallQueue() {
  {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
    for (Call& call : calls_) {
      call.stop = true;
    }
  }
  changed_.notify_all();
  worker_.join();
}

void CallQueue::Add(Value id, Work work) {
  {
    const std::lock_guard lock(mutex_);
    calls_.emplace_back(std::move(id), std::move(work));
  }
  changed_.notify_all();
}

void CallQueue::Cancel(const Value& id) {
  const std::lock_guard lock(mutex_);
  for (Call& call : calls_) {
    if (call.id == id) {
      call.stop = true;
    }
  }
}

void CallQueue::Finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return calls_.empty(); });
}

void CallQueue::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_closing_ || !calls_.empty(); });
    if (calls_.empty()) {
      return;
    }
    Call& call = calls_.front();
    lock.unlock();
    if (!call.stop) {
      call.work(call.stop);
    }
    lock.lock();
    calls_.pop_front();
    changed_.notify_all();
  }
}

}  // namespace orrery::mcp
