#include "orrery/base/progress.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "orrery/base/units.h"
#include "orrery/base/visible_text.h"

namespace orrery {
namespace {

constexpr std::string_view kEraseToEnd = "\x1b[K";

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

ProgressLine::ProgressLine(Options options) : options_(std::move(options)) {}

ProgressLine::~ProgressLine() {
  Clear();
}

void ProgressLine::Update(std::int64_t done, std::int64_t total, std::string_view what) {
  if (!options_.is_terminal) {
    return;
  }
  const std::lock_guard lock(mutex_);
  if (!IsDue(done, total)) {
    return;
  }
  is_shown_ = true;
  const std::string shown = VisibleText(what);
  const std::string line = total > 0 ? fmt::format("[{}/{}] {}", done, total, shown)
                                     : fmt::format("[{}] {}", done, shown);
  options_.write("\r" + Shortened(line, options_.width) + std::string(kEraseToEnd));
}

void ProgressLine::Clear() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(is_shown_, false)) {
    options_.write("\r" + std::string(kEraseToEnd));
  }
}

bool ProgressLine::IsDue(std::int64_t done, std::int64_t total) {
  const TimePoint now = options_.now();
  const bool is_last = total > 0 && done == total;
  if (is_shown_ && !is_last && now - shown_at_ < options_.interval) {
    return false;
  }
  shown_at_ = now;
  return true;
}

}  // namespace orrery
