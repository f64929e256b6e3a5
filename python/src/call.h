#pragma once

#include <functional>
#include <stdexcept>

namespace orrery::python {

/// An error of ours, with the sentence that the program would print.
struct OrreryError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Runs `work` on a thread of its own without the interpreter's lock, and returns when it is done.
/// Ctrl-C ends the wait: `stop` is called, and the exception of the signal is thrown once `work`
/// has returned. Throws in a child that was forked while another thread was in a call.
void CallWithoutLock(const std::function<void()>& work, const std::function<void()>& stop);

}  // namespace orrery::python
