#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

// Numbers as LEB128: seven bits a byte, the lowest first, the top bit set on all but the last byte.

namespace orrery::stream {

/// Zig-zag encoding of signed numbers: 0, -1, 1, -2 become 0, 1, 2, 3.
[[nodiscard]] constexpr std::uint64_t ZigZag(std::int64_t value) noexcept {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}

[[nodiscard]] constexpr std::int64_t UnZigZag(std::uint64_t value) noexcept {
  return static_cast<std::int64_t>((value >> 1) ^ (0 - (value & 1)));
}

/// Writes numbers and bytes into a buffer of fixed size. What does not fit sets `overflowed()` and
/// leaves the rest unspecified, so a caller checks once.
class BoundedWriter {
 public:
  BoundedWriter(char* begin, char* end) noexcept : begin_(begin), at_(begin), end_(end) {}

  void Varint(std::uint64_t value) noexcept {
    while (value >= 0x80) {
      Byte(static_cast<char>(value | 0x80));
      value >>= 7;
    }
    Byte(static_cast<char>(value));
  }

  void Bytes(std::string_view bytes) noexcept {
    if (bytes.size() > static_cast<std::size_t>(end_ - at_)) {
      overflowed_ = true;
      return;
    }
    std::memcpy(at_, bytes.data(), bytes.size());
    at_ += bytes.size();
  }

  [[nodiscard]] bool overflowed() const noexcept { return overflowed_; }

  [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(at_ - begin_); }

 private:
  void Byte(char byte) noexcept {
    if (at_ == end_) {
      overflowed_ = true;
      return;
    }
    *at_++ = byte;
  }

  char* begin_;
  char* at_;
  char* end_;
  bool overflowed_ = false;
};

/// Reads what BoundedWriter wrote. Reading at the end gives zeros, as trailing zeros are not
/// written; a number or text that the end cuts, or a number of more than 64 bits, sets `failed()`.
class VarintReader {
 public:
  explicit VarintReader(std::string_view bytes)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()), readable_(end_) {}

  /// Reads a part of what `whole` reads; bytes behind the part may be looked at, never used.
  VarintReader(std::string_view part, const VarintReader& whole)
      : at_(part.data()), end_(part.data() + part.size()), readable_(whole.readable_) {}

  [[gnu::always_inline]] std::uint64_t Varint() {
    if (at_ == end_) {
      return 0;
    }
    const auto first = static_cast<unsigned char>(*at_);
    if (first < 0x80) {
      ++at_;
      return first;
    }
    return readable_ - at_ >= 8 ? WordVarint() : LongVarint();
  }

  std::string_view Bytes(std::uint64_t count) {
    if (count > left()) {
      failed_ = true;
      at_ = end_;
      return {};
    }
    const std::string_view bytes(at_, static_cast<std::size_t>(count));
    at_ += count;
    return bytes;
  }

  [[nodiscard]] std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }

  [[nodiscard]] bool failed() const { return failed_; }

  void SetFailed() { failed_ = true; }

 private:
  // Up to eight bytes at once: the seven bits of each are moved together in three steps.
  [[gnu::always_inline]] std::uint64_t WordVarint() {
    std::uint64_t word = LoadWord();
    const std::uint64_t ends = ~word & 0x8080808080808080;
    const auto count = ends == 0 ? 8 : static_cast<std::ptrdiff_t>(std::countr_zero(ends) / 8 + 1);
    if (ends == 0 || count > end_ - at_) {
      return LongVarint();
    }
    at_ += count;
    word &= (ends ^ (ends - 1)) & 0x7f7f7f7f7f7f7f7f;
    word = (word & 0x007f007f007f007f) | (word & 0x7f007f007f007f00) >> 1U;
    word = (word & 0x00003fff00003fff) | (word & 0x3fff00003fff0000) >> 2U;
    return (word & 0x000000000fffffff) | (word & 0x0fffffff00000000) >> 4U;
  }

  [[nodiscard]] std::uint64_t LoadWord() const {
    std::uint64_t word = 0;
    std::memcpy(&word, at_, sizeof(word));
    if constexpr (std::endian::native == std::endian::big) {
      word = __builtin_bswap64(word);
    }
    return word;
  }

  std::uint64_t LongVarint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; at_ != end_ && shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(*at_++);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) {
        // The tenth byte has room for one bit.
        failed_ = failed_ || (shift == 63 && byte > 1);
        return value;
      }
    }
    failed_ = true;
    return 0;
  }

  const char* at_;
  const char* end_;
  const char* readable_;
  bool failed_ = false;
};

}  // namespace orrery::stream
