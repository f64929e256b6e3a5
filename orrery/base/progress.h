#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "orrery/base/units.h"

namespace orrery {

/// The progress of long work in one line: "[12/40] rank3.json". On a terminal it overwrites itself
/// and is erased at the end; elsewhere nothing is printed. Thread-safe.
class ProgressLine {
 public:
  struct Options {
    std::function<void(std::string_view)> write;  // to the terminal, at once
    bool is_terminal = false;
    std::size_t width = 80;
    std::function<TimePoint()> now;
    Duration interval = {100'000'000};  // at most one line in this time
  };

  explicit ProgressLine(Options options);

  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  ~ProgressLine();

  /// Shows the state, unless the last one was shown a moment ago; the first and the last (`done`
  /// equals `total`) are always shown. A `total` of 0 is unknown: "[12] …".
  void Update(std::int64_t done, std::int64_t total, std::string_view what);

  /// Erases the line, so that other output can follow.
  void Clear();

 private:
  bool IsDue(std::int64_t done, std::int64_t total);

  Options options_;
  std::mutex mutex_;
  bool is_shown_ = false;
  TimePoint shown_at_;
};

}  // namespace orrery
