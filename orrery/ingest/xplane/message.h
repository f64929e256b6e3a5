#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace orrery::ingest::xplane {

/// One field of a protobuf message.
struct Field {
  std::uint32_t number = 0;
  bool is_bytes = false;    // text, bytes or a message; else a number
  std::uint64_t value = 0;  // of a number, as its bits
  std::string_view bytes;
  bool is_cut = false;  // the message ends before the bytes do

  [[nodiscard]] std::int64_t integer() const { return static_cast<std::int64_t>(value); }
};

/// Walks over the fields of a protobuf message. Unlike a parser of the whole, it stops at the first
/// damage and keeps what came before: a cut line of events still gives its complete events.
class MessageReader {
 public:
  explicit MessageReader(std::string_view message) : rest_(message) {}

  /// Returns the next field; nothing after the last one and at damage.
  [[nodiscard]] std::optional<Field> Next();

  /// The message was cut, or does not hold what a message can.
  [[nodiscard]] bool is_damaged() const { return is_damaged_; }

 private:
  std::optional<std::uint64_t> TakeVarint();
  std::optional<std::uint64_t> TakeFixed(std::size_t num_bytes);
  std::optional<Field> TakeBytes(std::uint32_t number);
  std::optional<Field> Damaged();

  std::string_view rest_;
  bool is_damaged_ = false;
};

}  // namespace orrery::ingest::xplane
