#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "orrery/memory/patterns/object_use.h"

namespace orrery::memory::patterns {

/// The bytes in use on one device over births and deaths, and what the peak would be if an object
/// had lived another life. A question costs a look-up in tables of maxima over powers of two.
class Footprint {
 public:
  Footprint(const ObjectUses& uses, std::int32_t device);

  [[nodiscard]] std::int64_t peak_bytes() const { return peak_bytes_; }

  /// How much lower the peak is when `bytes` fewer are in use from an order up to another.
  [[nodiscard]] std::int64_t Saved(std::int64_t bytes, std::int64_t begin, std::int64_t end) const;

  /// Whether an object is freed, or born, between two orders, both excluded.
  [[nodiscard]] bool IsAnyFreed(std::int64_t after, std::int64_t before) const;
  [[nodiscard]] bool IsAnyBorn(std::int64_t after, std::int64_t before) const;

 private:
  void BuildMaxima(std::vector<std::int64_t> bytes);
  [[nodiscard]] std::int64_t HighestIn(std::size_t first, std::size_t last) const;  // 0: empty

  std::vector<std::int64_t> orders_;  // bytes_after_[i] holds from orders_[i] on
  std::vector<std::vector<std::int64_t>> maxima_;
  std::vector<std::int64_t> births_;
  std::vector<std::int64_t> deaths_;
  std::int64_t peak_bytes_ = 0;
};

}  // namespace orrery::memory::patterns
