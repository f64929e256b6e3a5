#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "capture/recorder/settings.h"

namespace orrery::capture {

/// Hands out the numbers of events.
///
/// By time, a number is the nanoseconds since the recording began, times 256. Events that are
/// recorded as they happen have 0 in the low byte; those that are told of later have another one
/// that follows from their correlation number. So no two are equal unless 127 calls begin within
/// one nanosecond.
class Numbering {
 public:
  Numbering(Ordering ordering, std::int64_t start_ns) : ordering_(ordering), start_ns_(start_ns) {}

  /// Of an event that happens now. Numbers grow, whatever the clock does.
  std::uint64_t Next(std::int64_t now_ns) noexcept {
    if (ordering_ == Ordering::kCounted) {
      return last_.fetch_add(1, std::memory_order_relaxed) + 1;
    }
    std::uint64_t last = last_.load(std::memory_order_relaxed);
    std::uint64_t next = 0;
    do {
      next = std::max(last + kPlaces, Since(now_ns));
    } while (!last_.compare_exchange_weak(last, next, std::memory_order_relaxed));
    return next;
  }

  /// Of the k-th event of a call that the host began at `host_ns`. Counted: simply the next.
  std::uint64_t Late(std::int64_t host_ns, std::uint64_t correlation, std::uint64_t k) noexcept {
    if (ordering_ == Ordering::kCounted) {
      return Next(host_ns);
    }
    return Since(host_ns) + k * kPlaces + 1 + 2 * (correlation % kCallsInATick);
  }

  /// Of that call itself.
  std::uint64_t LateCall(std::int64_t host_ns, std::uint64_t correlation) noexcept {
    return ordering_ == Ordering::kCounted ? Next(host_ns) : Late(host_ns, correlation, 0) + 1;
  }

  /// No event has a larger one yet, but for those told of later.
  [[nodiscard]] std::uint64_t last() const noexcept { return last_.load(); }

  [[nodiscard]] std::int64_t start_ns() const noexcept { return start_ns_; }

 private:
  static constexpr std::uint64_t kPlaces = 256;
  static constexpr std::uint64_t kCallsInATick = 127;

  [[nodiscard]] std::uint64_t Since(std::int64_t time_ns) const noexcept {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(time_ns - start_ns_, 0)) * kPlaces;
  }

  Ordering ordering_;
  std::int64_t start_ns_;
  std::atomic<std::uint64_t> last_{0};
};

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

  /// Returns the number of frees without a recorded allocation.
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

/// Numbers for what records name: texts, stacks, functions, modules. 0 is "none". Says for each
/// whether it is new, so that it is written once.
class Names {
 public:
  struct Number {
    std::uint64_t id = 0;
    bool is_new = false;
  };

  [[nodiscard]] Number Text(std::string_view text) {
    if (text.empty()) {
      return {};
    }
    const std::lock_guard lock(texts_mutex_);
    const auto found = texts_.find(text);
    return found != texts_.end()
               ? Number{found->second, false}
               : Number{texts_.emplace(text, texts_.size() + 1).first->second, true};
  }

  [[nodiscard]] Number Stack(std::uint64_t language, const std::vector<std::uint64_t>& frames) {
    const std::lock_guard lock(mutex_);
    return In(stacks_, std::pair(language, frames));
  }

  /// A function by its module and what the vendor calls it.
  [[nodiscard]] Number Function(std::uint64_t module, std::string_view name) {
    const std::lock_guard lock(mutex_);
    return In(functions_, std::pair(module, std::string(name)));
  }

  /// A module by its context and what the vendor calls it.
  [[nodiscard]] Number Module(std::uint64_t context, std::uint64_t handle) {
    const std::lock_guard lock(mutex_);
    return In(modules_, std::pair(context, handle));
  }

  /// The module is gone; another may get its handle.
  void ForgetModule(std::uint64_t context, std::uint64_t handle) {
    const std::lock_guard lock(mutex_);
    modules_.erase({context, handle});
  }

 private:
  struct Hash {
    using is_transparent = void;

    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>()(text);
    }
  };

  template <typename Map>
  Number In(Map& map, typename Map::key_type key) {
    const auto [place, is_new] = map.try_emplace(std::move(key), last_ + 1);
    last_ += is_new ? 1 : 0;
    return {place->second, is_new};
  }

  // Of its own: operators of the program must not wait for kernels that are being written.
  std::mutex texts_mutex_;  // guards texts_
  std::unordered_map<std::string, std::uint64_t, Hash, std::equal_to<>> texts_;
  std::mutex mutex_;  // guards what follows
  std::map<std::pair<std::uint64_t, std::vector<std::uint64_t>>, std::uint64_t> stacks_;
  std::map<std::pair<std::uint64_t, std::string>, std::uint64_t> functions_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> modules_;
  std::uint64_t last_ = 0;  // of stacks, functions and modules
};

/// Numbers of texts that one thread has asked for before: names of operators come thousands of
/// times a step, and the table of all is locked. Backward operators have long names
/// ("autograd::engine::evaluate_function: NativeLayerNormBackward0").
class KnownTexts {
 public:
  struct Known {
    std::uint64_t id = 0;
    std::uint8_t length = 0;
    std::array<char, 119> text{};

    [[nodiscard]] bool Is(std::string_view other) const noexcept {
      return id != 0 && std::string_view(text.data(), length) == other;
    }

    void Set(std::string_view other, std::uint64_t number) noexcept {
      if (other.size() <= text.size()) {
        id = number;
        length = static_cast<std::uint8_t>(other.size());
        std::copy(other.begin(), other.end(), text.begin());
      }
    }
  };

  /// Returns the place of this text, or of another one with the same hash.
  [[nodiscard]] Known& PlaceOf(std::string_view text) {
    return known_[std::hash<std::string_view>()(text) % known_.size()];
  }

 private:
  std::array<Known, 512> known_;
};

}  // namespace orrery::capture
