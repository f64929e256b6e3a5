#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace orrery {

/// Encodes numbers and text, little-endian. Records begin with their length, so that
/// readers can skip what later versions append to them.
class ByteWriter {
 public:
  template <std::integral T>
  void Number(T value) {
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    bytes_.append(bytes, sizeof(T));
  }

  void Text(std::string_view text);

  template <typename Write>
  void Record(Write&& write) {
    const std::size_t begin = bytes_.size();
    Number(std::uint32_t{0});
    write();
    EndRecord(begin);
  }

  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  void EndRecord(std::size_t begin);

  std::string bytes_;
};

/// Reads what ByteWriter wrote. Reading past the end gives zeros and sets `failed()`, so a caller
/// checks once.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  template <std::integral T>
  T Number() {
    T value{};
    const std::string_view bytes = Take(sizeof(T));
    if (bytes.size() == sizeof(T)) {
      std::memcpy(&value, bytes.data(), sizeof(T));
    }
    return value;
  }

  std::string Text();

  /// Reads how many items follow, each of at least `min_bytes`; a number that cannot fit into the
  /// rest fails, so nothing is allocated for it.
  std::size_t Count(std::size_t min_bytes);

  /// Reads a number below `limit`.
  template <typename Enum>
  Enum EnumBelow(std::uint8_t limit) {
    const auto value = Number<std::uint8_t>();
    failed_ = failed_ || value >= limit;
    return static_cast<Enum>(failed_ ? 0 : value);
  }

  /// Calls `read(reader)` with a reader of the next record. Bytes that it does not read
  /// are of a later version; they are skipped and counted.
  template <typename Read>
  void Record(Read&& read) {
    ByteReader record(Take(Number<std::uint32_t>()));
    record.failed_ = failed_;
    read(record);
    failed_ = record.failed_;
    skipped_bytes_ += record.skipped_bytes();
  }

  [[nodiscard]] bool failed() const { return failed_; }

  /// For callers with checks of their own.
  void SetFailed() { failed_ = true; }

  /// The bytes that records held beyond what was read of them, and those still to be read here.
  [[nodiscard]] std::size_t skipped_bytes() const { return skipped_bytes_ + rest_.size(); }

 private:
  std::string_view Take(std::size_t count);

  std::string_view rest_;
  std::size_t skipped_bytes_ = 0;
  bool failed_ = false;
};

}  // namespace orrery
