#pragma once

#include <functional>

namespace orrery::python {

/// Runs `work` on a thread of its own without the interpreter's lock, and returns when it is done.
/// Ctrl-C ends the wait: `stop` is called, and the exception of the signal is thrown once `work`
/// has returned.
void CallWithoutLock(const std::function<void()>& work, const std::function<void()>& stop);

}  // namespace orrery::python
