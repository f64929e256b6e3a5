#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capture/recorder/recorder.h"

namespace orrery::capture {

/// The call stacks of threads at launches: frames of C++, the innermost first, then the calling
/// frames of Python if the framework reports them. Each stack is named and written once; finding a
/// known one costs a walk over return addresses and a search. Any thread may call.
class CallStacks {
 public:
  static constexpr std::size_t kMaxFrames = 64;  // the innermost

  /// Frames of `own_module`, by where it begins, are left out where they are the innermost.
  explicit CallStacks(Recorder& recorder, const void* own_module = OwnModule());

  /// The library, or program, that this is in.
  [[nodiscard]] static const void* OwnModule();

  /// Sets this thread's Python frames from now on, the innermost first; none: not known.
  void SetPython(std::span<const std::string_view> frames);

  /// The number of this thread's stack.
  [[nodiscard]] std::uint64_t OfThisThread();

 private:
  using Frames = std::vector<std::string>;
  using Addresses = std::vector<void*>;

  [[nodiscard]] Frames FramesOf(const Addresses& addresses, const Frames* python) const;
  [[nodiscard]] std::uint64_t Write(const Frames& frames);

  static thread_local std::shared_ptr<const Frames> python_of_thread;

  Recorder& recorder_;
  const void* own_module_;
  std::mutex mutex_;                                        // guards all below
  std::map<Frames, std::shared_ptr<const Frames>> python_;  // kept, so that places are not reused
  std::map<std::pair<Addresses, const Frames*>, std::uint64_t> known_;
};

/// A return address as people read it: function, and module with offset.
[[nodiscard]] std::string FrameText(void* address);

}  // namespace orrery::capture
