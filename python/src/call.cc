#include "python/src/call.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <thread>
#include <utility>

#include <pthread.h>
#include <pybind11/pybind11.h>

namespace orrery::python {

namespace {

std::atomic<int> num_calls = 0;
std::atomic<bool> is_copy_of_calls = false;

// A child that is forked while another thread is in a call has copies of locks that are never
// released.
void RefuseCopiesOfCalls() {
  [[maybe_unused]] static const int registered = pthread_atfork(
      nullptr, nullptr, [] { is_copy_of_calls = is_copy_of_calls || num_calls > 0; });
  if (is_copy_of_calls) {
    throw OrreryError(
        "this process was forked while another thread was in a call of orrery, whose locks it has "
        "copied: start it by multiprocessing's \"spawn\", or fork before such calls");
  }
}

class CountedCall {
 public:
  CountedCall() { ++num_calls; }

  CountedCall(const CountedCall&) = delete;
  CountedCall& operator=(const CountedCall&) = delete;

  ~CountedCall() { --num_calls; }
};

}  // namespace

void CallWithoutLock(const std::function<void()>& work, const std::function<void()>& stop) {
  RefuseCopiesOfCalls();
  const CountedCall counted;
  constexpr auto kBetweenLooks = std::chrono::milliseconds(50);
  std::packaged_task<void()> task(work);
  std::future<void> done = task.get_future();
  std::thread thread(std::move(task));
  bool is_stopped = false;
  {
    pybind11::gil_scoped_release release;
    while (done.wait_for(kBetweenLooks) != std::future_status::ready) {
      if (is_stopped) {
        continue;
      }
      const pybind11::gil_scoped_acquire acquire;
      if (PyErr_CheckSignals() != 0) {
        is_stopped = true;
        stop();
      }
    }
    thread.join();
  }
  if (is_stopped) {
    throw pybind11::error_already_set();
  }
  done.get();
}

}  // namespace orrery::python
