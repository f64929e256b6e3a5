#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace orrery::capture::sanitizer {

/// Small numbers for handles, from 1, in the order in which they are first seen; 0 stays 0. Any
/// thread may call.
class Numbers {
 public:
  [[nodiscard]] std::uint64_t Of(std::uint64_t handle) {
    if (handle == 0) {
      return 0;
    }
    const std::lock_guard lock(mutex_);
    return numbers_.try_emplace(handle, numbers_.size() + 1).first->second;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::uint64_t> numbers_;
};

}  // namespace orrery::capture::sanitizer
