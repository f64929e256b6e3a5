#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/stream/schema.h"
#include "orrery/stream/varint.h"

// From records to bytes and back, field by field as schema.h lists them. On disk a record is its
// length, its kind and its fields; zeros at its end are left out.

namespace orrery::stream {

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
