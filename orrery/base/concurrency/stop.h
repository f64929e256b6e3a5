#pragma once

#include <atomic>
#include <exception>

namespace orrery {

/// Thrown out of long work that somebody has asked to stop; caught where the asking is known
/// (cli/command_line.cc). Errors are values, but stopping is none: every function on the way would
/// have to pass on what no caller can do anything about.
struct Stopped : std::exception {
  [[nodiscard]] const char* what() const noexcept override { return "stopped"; }
};

/// While it lives, work of this thread, and of the threads that ParallelFor and RunPipeline spread
/// it over, ends soon after the flag is set.
class StopScope {
 public:
  explicit StopScope(const std::atomic<bool>* flag);
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;
  ~StopScope();

  /// Returns the flag of this thread; nullptr if it cannot be stopped.
  [[nodiscard]] static const std::atomic<bool>* flag();

 private:
  const std::atomic<bool>* before_;
};

/// Returns true if the work of this thread should end.
[[nodiscard]] inline bool ShouldStop() {
  const std::atomic<bool>* const flag = StopScope::flag();
  return flag != nullptr && flag->load(std::memory_order_relaxed);
}

/// For loops that take long by themselves.
inline void ThrowIfStopped() {
  if (ShouldStop()) {
    throw Stopped();
  }
}

}  // namespace orrery
