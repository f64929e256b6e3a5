#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace orrery::capture {

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
    const std::lock_guard lock(mutex_);
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

  std::mutex mutex_;
  std::unordered_map<std::string, std::uint64_t, Hash, std::equal_to<>> texts_;
  std::map<std::pair<std::uint64_t, std::vector<std::uint64_t>>, std::uint64_t> stacks_;
  std::map<std::pair<std::uint64_t, std::string>, std::uint64_t> functions_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> modules_;
  std::uint64_t last_ = 0;  // of stacks, functions and modules
};

}  // namespace orrery::capture
