#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/file/byte_cursor.h"

namespace orrery {

/// Writes lists of numbers as byte planes: all lowest bytes of a list, then all second bytes. A
/// list of values may be that of its differences to a reference, the longest list of values that
/// was written for the column before.
class NumberListWriter {
 public:
  using Numbers = std::vector<std::uint64_t>;

  explicit NumberListWriter(Numbers reference) : reference_(std::move(reference)) {}

  void Add(const Numbers& numbers) { AddPlanes(numbers, 0); }

  void AddValues(const Numbers& numbers);

  /// The first of the longest lists of values.
  [[nodiscard]] const Numbers& longest() const { return longest_; }

  void WriteTo(ByteWriter& out) const;

 private:
  void AddPlanes(const Numbers& numbers, int flag);

  Numbers reference_;
  Numbers longest_;
  std::string widths_;  // by list: number of planes, flagged where they are of differences
  std::string bytes_;
};

/// Reads what NumberListWriter wrote, with the same reference; what follows a failure is empty.
class NumberListReader {
 public:
  using Numbers = std::vector<std::uint64_t>;

  NumberListReader(ByteReader& in, Numbers reference);

  Numbers Next(std::size_t count);
  Numbers NextValues(std::size_t count);

  [[nodiscard]] const Numbers& longest() const { return longest_; }

  void SetFailed() { failed_ = true; }

  [[nodiscard]] bool failed() const { return failed_; }

  [[nodiscard]] bool at_end() const { return list_ == widths_.size() && place_ == bytes_.size(); }

 private:
  [[nodiscard]] int NextWidth() const;

  std::string widths_;
  std::string bytes_;
  Numbers reference_;
  Numbers longest_;
  bool failed_;
  std::size_t list_ = 0;
  std::size_t place_ = 0;
};

}  // namespace orrery
