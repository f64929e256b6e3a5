#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/stream/schema.h"

// Numbers as LEB128: seven bits a byte, the lowest first, the top bit set on all but the last byte.
// From records to bytes and back, field by field as schema.h lists them. On disk a record is its
// length, its kind and its fields; zeros at its end are left out.

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
    at_ = std::copy(bytes.begin(), bytes.end(), at_);
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

/// The values that relative fields of a chunk are differences to.
class Registers {
 public:
  explicit Registers(std::uint64_t first_sequence = 0) noexcept {
    values_[IndexOf(Encoding::kSequence)] = first_sequence;
  }

  /// Returns the difference to write for `value`.
  template <Encoding encoding>
  std::uint64_t Advance(std::uint64_t value) noexcept {
    std::uint64_t& before = values_[IndexOf(encoding)];
    return ZigZag(static_cast<std::int64_t>(value - std::exchange(before, value)));
  }

  /// Returns the value that a written difference stands for.
  template <Encoding encoding>
  std::uint64_t Recall(std::uint64_t difference) noexcept {
    std::uint64_t& value = values_[IndexOf(encoding)];
    value += static_cast<std::uint64_t>(UnZigZag(difference));
    return value;
  }

 private:
  static constexpr std::size_t IndexOf(Encoding encoding) {
    return static_cast<std::size_t>(encoding) - static_cast<std::size_t>(kFirstRelative);
  }

  std::array<std::uint64_t, kNumRegisters> values_{};
};

/// Writes one field and returns whether it is not zero.
template <Encoding encoding, typename T>
bool EncodeField(const T& value, Registers& registers, BoundedWriter& writer) noexcept {
  if constexpr (encoding == Encoding::kText) {
    writer.Varint(value.size());
    writer.Bytes(value);
    return !value.empty();
  } else if constexpr (encoding == Encoding::kNumbers) {
    writer.Varint(value.size());
    for (const std::uint64_t number : value) {
      writer.Varint(number);
    }
    return !value.empty();
  } else {
    std::uint64_t code = static_cast<std::uint64_t>(value);
    if constexpr (encoding >= kFirstRelative) {
      code = registers.Advance<encoding>(code);
    } else if constexpr (encoding == Encoding::kSigned) {
      code = ZigZag(value);
    } else if constexpr (encoding == Encoding::kMaybe) {
      ++code;
    }
    writer.Varint(code);
    return code != 0;
  }
}

/// Writes the kind and the fields of `record`; returns the bytes that count, without the zeros at
/// the end, or 0 if it does not fit.
template <typename Record>
std::size_t EncodeRecord(const Record& record, Registers& registers, char* begin,
                         char* end) noexcept {
  BoundedWriter writer(begin, end);
  writer.Varint(Record::kKind);
  std::size_t used = writer.size();
  Record::VisitFields([&]<Encoding encoding>(const schema::Field<encoding, Record>& field) {
    if (EncodeField<encoding>(record.*field.member, registers, writer)) {
      used = writer.size();
    }
  });
  return writer.overflowed() ? 0 : used;
}

/// Holds the lists of the record that was read last, so that it can name them by span.
class NumberLists {
 public:
  static constexpr std::size_t kMost = 3;  // lists in one record

  void Begin() { used_ = 0; }

  std::span<const std::uint64_t> Read(VarintReader& reader) {
    const std::uint64_t count = reader.Varint();
    if (count > reader.left()) {
      reader.SetFailed();
      return {};
    }
    std::vector<std::uint64_t>& numbers = lists_[used_++];
    numbers.clear();
    for (std::uint64_t i = 0; i < count; ++i) {
      numbers.push_back(reader.Varint());
    }
    return numbers;
  }

 private:
  std::array<std::vector<std::uint64_t>, kMost> lists_;
  std::size_t used_ = 0;
};

/// Reads one field, the opposite of EncodeField.
template <Encoding encoding, typename T>
[[gnu::always_inline]] inline void DecodeField(T& value, Registers& registers, NumberLists& lists,
                                               VarintReader& reader) {
  if constexpr (encoding == Encoding::kText) {
    value = reader.Bytes(reader.Varint());
  } else if constexpr (encoding == Encoding::kNumbers) {
    value = lists.Read(reader);
  } else {
    const std::uint64_t code = reader.Varint();
    if constexpr (encoding >= kFirstRelative) {
      value = static_cast<T>(registers.Recall<encoding>(code));
    } else if constexpr (encoding == Encoding::kSigned) {
      value = UnZigZag(code);
    } else if constexpr (encoding == Encoding::kMaybe) {
      value = static_cast<T>(code - 1);
    } else {
      value = code;
    }
  }
}

/// Reads the fields of a record whose kind is known already.
template <typename Record>
void DecodeRecord(Record& record, Registers& registers, NumberLists& lists, VarintReader& reader) {
  lists.Begin();
  Record::VisitFields([&]<Encoding encoding>(const schema::Field<encoding, Record>& field) {
    DecodeField<encoding>(record.*field.member, registers, lists, reader);
  });
}

}  // namespace orrery::stream
