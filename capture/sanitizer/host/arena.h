#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace orrery::capture::sanitizer {

/// Hands out places in memory of a fixed size, going round, so that places taken one after the
/// other lie side by side and can be read back together. Knows offsets only; not safe from several
/// threads.
class Arena {
 public:
  static constexpr std::uint64_t kAlignment = 256;

  explicit Arena(std::uint64_t bytes) : free_bytes_(bytes) {
    if (bytes != 0) {
      free_.emplace(0, bytes);
    }
  }

  /// What `Take` really takes for `bytes`.
  [[nodiscard]] static std::uint64_t Rounded(std::uint64_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

  /// An offset, a multiple of kAlignment; nothing if no gap is long enough.
  [[nodiscard]] std::optional<std::uint64_t> Take(std::uint64_t bytes);

  /// Gives back what was taken; also a piece of it, or neighbours together.
  void GiveBack(std::uint64_t offset, std::uint64_t bytes);

  [[nodiscard]] std::uint64_t free_bytes() const { return free_bytes_; }

 private:
  using Gaps = std::map<std::uint64_t, std::uint64_t>;

  std::uint64_t TakeFrom(Gaps::iterator gap, std::uint64_t bytes);

  std::uint64_t free_bytes_;
  std::uint64_t next_ = 0;
  Gaps free_;  // begin → bytes, no two side by side
};

}  // namespace orrery::capture::sanitizer
