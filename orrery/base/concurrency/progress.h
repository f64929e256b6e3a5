#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "orrery/base/units.h"

namespace orrery {

/// The progress of long work in one line: "[12/40] rank3.json". On a terminal it overwrites itself
/// and is erased at the end; elsewhere it is a line every ten seconds. Thread-safe.
class ProgressLine {
 public:
  struct Options {
    std::function<void(std::string_view)> write;  // to the terminal, at once
    bool is_terminal = false;
    std::size_t width = 80;
    std::function<TimePoint()> now;
    Duration interval = {100'000'000};               // at most one line in this time
    Duration interval_elsewhere = {10'000'000'000};  // the same where there is no terminal
    /// Calls Tick from a thread of its own, for work that does not say where it is for long.
    bool ticks = false;
  };

  /// `what` is shown by the first Tick, unless something else is known by then.
  explicit ProgressLine(Options options, std::string_view what = {});

  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  ~ProgressLine();

  /// Shows the state, unless the last one was shown a moment ago; on a terminal the first and the
  /// last (`done` equals `total`) are always shown. A `total` of 0 is unknown: "[12] …";
  /// of nothing done yet only `what` is shown.
  void Update(std::int64_t done, std::int64_t total, std::string_view what);

  /// Shows the last state again if that is due, with the time since the beginning.
  void Tick();

  /// Erases the line until the next Update, so that other output can follow.
  void Clear();

 private:
  [[nodiscard]] bool IsDue(TimePoint now, bool is_last) const;
  void Show(TimePoint now);

  Options options_;
  std::mutex mutex_;
  std::string state_;
  bool is_shown_ = false;
  TimePoint begun_at_;
  TimePoint shown_at_;  // elsewhere: or begun
  std::condition_variable_any ended_;
  std::jthread ticker_;  // the last member: it uses the others
};

}  // namespace orrery
