#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace orrery::capture {

/// Numbers of objects, and which one begins at an address. Levels (driver, segment, tensor) nest:
/// each has addresses of its own.
class ObjectNumbers {
 public:
  [[nodiscard]] std::uint64_t Next() noexcept { return ++last_; }

  /// A new object; what began at the address on this level before is forgotten.
  std::uint64_t Begin(std::uint64_t level, std::uint64_t address) {
    const std::uint64_t object = Next();
    const std::lock_guard lock(mutex_);
    OnLevel(level)[address] = object;
    return object;
  }

  /// The object at the address, 0 where none is known; `is_last`: it is gone after this.
  std::uint64_t End(std::uint64_t level, std::uint64_t address, bool is_last) {
    const std::lock_guard lock(mutex_);
    auto& objects = OnLevel(level);
    const auto found = objects.find(address);
    if (found == objects.end()) {
      ++num_unmatched_;
      return 0;
    }
    const std::uint64_t object = found->second;
    if (is_last) {
      objects.erase(found);
    }
    return object;
  }

  /// Frees of memory that nobody allocated, as far as was seen.
  [[nodiscard]] std::uint64_t num_unmatched() {
    const std::lock_guard lock(mutex_);
    return num_unmatched_;
  }

 private:
  using ObjectAtAddress = std::unordered_map<std::uint64_t, std::uint64_t>;

  ObjectAtAddress& OnLevel(std::uint64_t level) {
    return objects_[level < objects_.size() ? level : 0];
  }

  std::atomic<std::uint64_t> last_{0};
  std::mutex mutex_;
  std::array<ObjectAtAddress, 3> objects_;
  std::uint64_t num_unmatched_ = 0;
};

}  // namespace orrery::capture
