#include "orrery/base/concurrency/progress.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "orrery/base/text/visible_text.h"
#include "orrery/base/units.h"

namespace orrery {
namespace {

constexpr std::string_view kEraseToEnd = "\x1b[K";
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kShownSeconds = 10;  // shorter work does not say how long it takes

// A line that wraps cannot be overwritten, so its middle is elided.
std::string Shortened(std::string line, std::size_t width) {
  constexpr std::string_view kGap = "...";
  if (line.size() <= width || width <= kGap.size()) {
    line.resize(std::min(line.size(), width));
    return line;
  }
  const std::size_t kept = width - kGap.size();
  const std::size_t front = (kept + 1) / 2;
  return line.substr(0, front) + std::string(kGap) + line.substr(line.size() - (kept - front));
}

}  // namespace

ProgressLine::ProgressLine(Options options, std::string_view what)
    : options_(std::move(options)), state_(VisibleText(what)) {
  begun_at_ = shown_at_ = options_.now();
  if (options_.ticks) {
    ticker_ = std::jthread([this](const std::stop_token& stop) {
      std::mutex sleeping;
      std::unique_lock lock(sleeping);
      while (!ended_.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; }) &&
             !stop.stop_requested()) {
        Tick();
      }
    });
  }
}

ProgressLine::~ProgressLine() {
  if (ticker_.joinable()) {
    ticker_.request_stop();
    ticker_.join();
  }
  Clear();
}

void ProgressLine::Update(std::int64_t done, std::int64_t total, std::string_view what) {
  const std::lock_guard lock(mutex_);
  const std::string shown = VisibleText(what);
  state_ = total > 0  ? fmt::format("[{}/{}] {}", done, total, shown)
           : done > 0 ? fmt::format("[{}] {}", done, shown)
                      : shown;
  const TimePoint now = options_.now();
  if (IsDue(now, total > 0 && done == total)) {
    Show(now);
  }
}

void ProgressLine::Tick() {
  const std::lock_guard lock(mutex_);
  const TimePoint now = options_.now();
  const bool is_awaited = (now - begun_at_).nanoseconds >= kSecond;  // most work is done by then
  if (!state_.empty() && is_awaited && IsDue(now, false)) {
    Show(now);
  }
}

void ProgressLine::Clear() {
  const std::lock_guard lock(mutex_);
  state_.clear();
  if (std::exchange(is_shown_, false) && options_.is_terminal) {
    options_.write("\r" + std::string(kEraseToEnd));
  }
}

bool ProgressLine::IsDue(TimePoint now, bool is_last) const {
  return options_.is_terminal ? !is_shown_ || is_last || now - shown_at_ >= options_.interval
                              : now - shown_at_ >= options_.interval_elsewhere;
}

void ProgressLine::Show(TimePoint now) {
  shown_at_ = now;
  is_shown_ = true;
  const std::int64_t seconds = (now - begun_at_).nanoseconds / kSecond;
  const std::string line =
      seconds < kShownSeconds ? state_ : fmt::format("{} ({} s)", state_, seconds);
  options_.write(options_.is_terminal
                     ? "\r" + Shortened(line, options_.width) + std::string(kEraseToEnd)
                     : line + "\n");
}

}  // namespace orrery
