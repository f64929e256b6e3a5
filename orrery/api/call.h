#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>

namespace orrery::api {

/// Receives the progress of long work: `done` of `total` (0: not known) and what is being done.
/// Calls may come from any thread.
using Progress = std::function<void(std::int64_t done, std::int64_t total, std::string_view what)>;

/// Progress and cancellation of one call; part of every request.
struct CallOptions {
  Progress progress = {};  // empty: not reported

  /// Set by another thread to cancel the call, which then fails soon; null: it cannot be.
  const std::atomic<bool>* stop = nullptr;

  void Report(std::string_view what) const {
    if (progress) {
      progress(0, 0, what);
    }
  }
};

}  // namespace orrery::api
