#pragma once

#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "capture/cupti/activity_source.h"

namespace orrery::capture {

/// Stands in for CUPTI: a buffer holds indices of functions that deliver records. Buffers are
/// returned at a flush, as CUPTI's are.
class MockSource : public ActivitySource {
 public:
  using Show = std::function<void(ActivityReceiver&)>;

  std::string Start(const CollectionOptions& /*options*/, BufferOwner& owner) override {
    owner_ = &owner;
    return why_not;
  }

  void Select(bool work, bool calls) override {
    has_work = work;
    has_calls = calls;
  }

  /// Adds records for the next flush.
  void Tell(Show show) {
    const std::lock_guard lock(mutex_);
    shows_.push_back(std::move(show));
  }

  void Flush(bool /*is_last*/) override {
    const std::lock_guard lock(mutex_);
    for (; num_sent_ < shows_.size(); ++num_sent_) {
      std::size_t bytes = 0;
      std::uint8_t* const buffer = owner_->Request(bytes);
      if (buffer == nullptr) {
        owner_->Complete(nullptr, 0, 1);
        continue;
      }
      std::memcpy(buffer, &num_sent_, sizeof(num_sent_));
      owner_->Complete(buffer, sizeof(num_sent_), num_dropped);
    }
  }

  bool Decode(std::uint8_t* buffer, std::size_t /*valid_bytes*/,
              ActivityReceiver& receiver) override {
    std::size_t number = 0;
    std::memcpy(&number, buffer, sizeof(number));
    Show show;
    {
      const std::lock_guard lock(mutex_);
      show = shows_.at(number);
    }
    show(receiver);
    return is_readable;
  }

  std::int64_t now_ns() override { return 42; }

  std::string version() override { return "mock 1"; }

  std::string why_not;
  std::uint64_t num_dropped = 0;
  bool is_readable = true;
  bool has_work = true;
  bool has_calls = true;

 private:
  std::mutex mutex_;
  BufferOwner* owner_ = nullptr;
  std::vector<Show> shows_;
  std::size_t num_sent_ = 0;
};

}  // namespace orrery::capture
