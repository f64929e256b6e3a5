#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace orrery::ingest::kineto {

/// A fixed set of names and what they mean, sorted at compile time by length: names of one length
/// are few, so a look-up is one or two comparisons.
template <typename Meaning, std::size_t N>
class NameTable {
 public:
  using Entry = std::pair<std::string_view, Meaning>;

  constexpr explicit NameTable(const std::array<Entry, N>& entries) : sorted_(entries) {
    std::sort(sorted_.begin(), sorted_.end(),
              [](const Entry& a, const Entry& b) { return a.first.size() < b.first.size(); });
    std::size_t next = 0;
    for (std::size_t length = 0; length < begin_.size(); ++length) {
      while (next < N && sorted_[next].first.size() < length) {
        ++next;
      }
      begin_[length] = static_cast<std::uint8_t>(next);
    }
  }

  [[nodiscard]] constexpr Meaning Find(std::string_view name, Meaning otherwise) const {
    if (name.size() > kLongest) {
      return otherwise;
    }
    for (std::size_t i = begin_[name.size()]; i < begin_[name.size() + 1]; ++i) {
      if (sorted_[i].first == name) {
        return sorted_[i].second;
      }
    }
    return otherwise;
  }

 private:
  static constexpr std::size_t kLongest = 40;
  static_assert(N < 256);

  std::array<Entry, N> sorted_;
  std::array<std::uint8_t, kLongest + 2> begin_{};
};

}  // namespace orrery::ingest::kineto
