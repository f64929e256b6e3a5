#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/string_table.h"

namespace orrery::ingest::torch_snapshot {

/// A value of a pickle in eight bytes: its kind and either the value or its index in its
/// PickleData. Values that Python shared are shared here too, so a list may even hold itself;
/// so code that walks the data limits its depth.
class PickleValue {
 public:
  enum class Kind : std::uint8_t { kNone, kBool, kInteger, kWide, kFloat, kText, kList, kDict };

  PickleValue() = default;

  PickleValue(Kind kind, std::uint64_t payload)
      : bits_(static_cast<std::uint64_t>(kind) << kPayloadBits | (payload & kPayloadMask)) {}

  [[nodiscard]] Kind kind() const { return static_cast<Kind>(bits_ >> kPayloadBits); }

  /// An index, or an integer of 56 bits that is not negative.
  [[nodiscard]] std::uint64_t payload() const { return bits_ & kPayloadMask; }

  static constexpr std::uint64_t kPayloadMask = (std::uint64_t{1} << 56) - 1;

 private:
  static constexpr int kPayloadBits = 56;

  std::uint64_t bits_ = 0;
};

/// The values of a pickle. Lists and tuples are lists, text and bytes are text; a dictionary is a
/// list of alternating keys and values. Reading a value as another kind gives nothing.
class PickleData {
 public:
  PickleValue NewInteger(std::int64_t value);
  PickleValue NewText(std::string_view text);
  PickleValue NewContainer(PickleValue::Kind kind);

  /// The elements of a list or dictionary that NewContainer made.
  std::vector<PickleValue>& Items(PickleValue container) {
    return containers_[static_cast<std::size_t>(container.payload())];
  }

  [[nodiscard]] std::span<const PickleValue> List(PickleValue value) const;
  [[nodiscard]] std::optional<std::int64_t> Integer(PickleValue value) const;
  [[nodiscard]] std::optional<std::string_view> Text(PickleValue value) const;

  /// Returns the value of a key that is text, the last one if there are several.
  [[nodiscard]] std::optional<PickleValue> Find(PickleValue dictionary, std::string_view key) const;

  /// Returns keys and values of a dictionary, in order.
  [[nodiscard]] std::vector<std::pair<PickleValue, PickleValue>> Pairs(
      PickleValue dictionary) const;

  /// As Find, then Integer; `otherwise` for what is missing.
  [[nodiscard]] std::int64_t IntegerAt(PickleValue dictionary, std::string_view key,
                                       std::int64_t otherwise) const;
  [[nodiscard]] std::string_view TextAt(PickleValue dictionary, std::string_view key) const;
  [[nodiscard]] std::span<const PickleValue> ListAt(PickleValue dictionary,
                                                    std::string_view key) const;

 private:
  StringTable texts_;
  std::vector<std::int64_t> wide_;  // integers beyond 56 bits, and negative ones
  std::deque<std::vector<PickleValue>> containers_;
};

}  // namespace orrery::ingest::torch_snapshot
