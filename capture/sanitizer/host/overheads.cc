#include "capture/sanitizer/host/overheads.h"

#include <chrono>

namespace orrery::capture::sanitizer {

std::int64_t SteadyClock::now_ns() const noexcept {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

thread_local Overheads::Scope* Overheads::Scope::current_ = nullptr;

Overheads::Scope::Scope(Overheads& overheads, Phase phase, std::uint64_t bytes) noexcept
    : overheads_(overheads), phase_(phase), outer_(current_) {
  if (outer_ == nullptr) {
    begin_ns_ = overheads_.clock_.now_ns();
  }
  since_ns_ = overheads_.clock_.now_ns();
  if (outer_ != nullptr) {
    outer_->Charge(since_ns_);
  }
  overheads_.costs_[phase].count.fetch_add(1, std::memory_order_relaxed);
  overheads_.costs_[phase].bytes.fetch_add(bytes, std::memory_order_relaxed);
  current_ = this;
}

Overheads::Scope::~Scope() {
  const std::int64_t now_ns = overheads_.clock_.now_ns();
  Charge(now_ns);
  current_ = outer_;
  if (outer_ != nullptr) {
    outer_->since_ns_ = now_ns;
    return;
  }
  Cost& total = overheads_.costs_[stream::codes::kTotal];
  const std::int64_t elapsed_ns = overheads_.clock_.now_ns() - begin_ns_;
  total.total_ns.fetch_add(static_cast<std::uint64_t>(elapsed_ns), std::memory_order_relaxed);
  total.count.fetch_add(1, std::memory_order_relaxed);
}

void Overheads::Scope::Charge(std::int64_t now_ns) noexcept {
  overheads_.costs_[phase_].total_ns.fetch_add(static_cast<std::uint64_t>(now_ns - since_ns_),
                                               std::memory_order_relaxed);
}

void Overheads::WriteTo(Recorder& recorder) const {
  for (std::size_t phase = 0; phase < kNumPhases; ++phase) {
    const Cost& cost = costs_[phase];
    if (cost.count != 0) {
      recorder.Write(stream::Overhead{
          .phase = phase, .total_ns = cost.total_ns, .count = cost.count, .bytes = cost.bytes});
    }
  }
}

}  // namespace orrery::capture::sanitizer
