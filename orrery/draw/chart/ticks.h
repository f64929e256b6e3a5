#pragma once

#include <string>
#include <vector>

namespace orrery::draw {

/// What a number on an axis counts. Bytes are shown in powers of 1,000, or of 1,024 (memory).
enum class Quantity {
  kNumber,
  kNanoseconds,
  kBytes,
  kBinaryBytes,
  kBytesPerSecond,
  kPercent,
};

/// Returns a value as a person reads it, with its unit: "12.3 ms", "1.50 GB/s", "41.2 %".
[[nodiscard]] std::string QuantityText(double value, Quantity quantity);

/// Returns a value as it stands at an axis: as above without zeros at the end, "10 ms".
[[nodiscard]] std::string TickText(double value, Quantity quantity);

/// Returns at most `max_ticks` multiples of 1, 2 or 5 times a power of ten from `low` to `high`.
[[nodiscard]] std::vector<double> LinearTicks(double low, double high, int max_ticks);

/// Returns at most `max_ticks` multiples of a power of two from `low` to `high`.
[[nodiscard]] std::vector<double> BinaryTicks(double low, double high, int max_ticks);

/// Returns at most `max_ticks` powers of ten from `low` to `high` (both above zero), with 2 and 5
/// times them where there is room.
[[nodiscard]] std::vector<double> LogTicks(double low, double high, int max_ticks);

}  // namespace orrery::draw
