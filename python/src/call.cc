#include "python/src/call.h"

#include <chrono>
#include <functional>
#include <future>
#include <thread>
#include <utility>

#include <pybind11/pybind11.h>

namespace orrery::python {

void CallWithoutLock(const std::function<void()>& work, const std::function<void()>& stop) {
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
