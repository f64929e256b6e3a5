#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace orrery::memory::uvm {

/// The pages of one block as bits, the first page lowest. A block of 2 MiB has 512 pages of 4 KiB.
class PageMask {
 public:
  static constexpr int kMaxPages = 512;

  /// Pages from `begin` up to `end`, without it.
  [[nodiscard]] static PageMask Range(int begin, int end) {
    PageMask mask;
    for (int word = begin / kWordBits; word * kWordBits < end; ++word) {
      const int low = begin > word * kWordBits ? begin - word * kWordBits : 0;
      const int high = end < (word + 1) * kWordBits ? end - word * kWordBits : kWordBits;
      mask.words_[static_cast<std::size_t>(word)] = LowBits(high) & ~LowBits(low);
    }
    return mask;
  }

  [[nodiscard]] int count() const {
    int count = 0;
    for (const std::uint64_t word : words_) {
      count += std::popcount(word);
    }
    return count;
  }

  [[nodiscard]] bool any() const {
    std::uint64_t all = 0;
    for (const std::uint64_t word : words_) {
      all |= word;
    }
    return all != 0;
  }

  [[nodiscard]] bool Has(int page) const {
    return (words_[static_cast<std::size_t>(page / kWordBits)] >> (page % kWordBits) & 1) != 0;
  }

  /// The lowest `count` of its pages, or all where there are fewer.
  [[nodiscard]] PageMask First(int count) const {
    PageMask first;
    for (std::size_t word = 0; word < kNumWords && count > 0; ++word) {
      std::uint64_t left = words_[word];
      for (; left != 0 && count < std::popcount(left); left &= ~std::bit_floor(left)) {
      }
      first.words_[word] = left;
      count -= std::popcount(left);
      if (left != words_[word]) {
        break;
      }
    }
    return first;
  }

  PageMask& operator|=(const PageMask& other) {
    for (std::size_t word = 0; word < kNumWords; ++word) {
      words_[word] |= other.words_[word];
    }
    return *this;
  }

  friend PageMask operator|(PageMask lhs, const PageMask& rhs) { return lhs |= rhs; }

  friend PageMask operator&(PageMask lhs, const PageMask& rhs) {
    for (std::size_t word = 0; word < kNumWords; ++word) {
      lhs.words_[word] &= rhs.words_[word];
    }
    return lhs;
  }

  /// Its pages that are not in `other`.
  [[nodiscard]] PageMask Without(const PageMask& other) const {
    PageMask rest = *this;
    for (std::size_t word = 0; word < kNumWords; ++word) {
      rest.words_[word] &= ~other.words_[word];
    }
    return rest;
  }

  bool operator==(const PageMask&) const = default;

 private:
  static constexpr int kWordBits = 64;
  static constexpr std::size_t kNumWords = kMaxPages / kWordBits;

  static std::uint64_t LowBits(int count) {
    return count >= kWordBits ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
  }

  std::array<std::uint64_t, kNumWords> words_ = {};
};

}  // namespace orrery::memory::uvm
