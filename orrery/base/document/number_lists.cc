#include "orrery/base/document/number_lists.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "orrery/base/file/byte_cursor.h"

namespace orrery {
namespace {

using Numbers = std::vector<std::uint64_t>;

constexpr int kMaxWidth = 8;
constexpr int kOfDifferences = 16;  // flag of a width

// Bits that a list of numbers takes where each has as many as it needs.
double BitsOf(const Numbers& numbers) {
  double bits = 0;
  for (const std::uint64_t number : numbers) {
    bits += static_cast<double>(std::bit_width(number));
  }
  return bits;
}

// The order of size, in which differences that grow with the numbers are in order, too.
std::vector<std::size_t> OrderOf(const Numbers& reference) {
  std::vector<std::size_t> order(reference.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return reference[i]; });
  return order;
}

// Differences to another list, smallest of the other first, as 0, -1, 1, -2, 2, ...
Numbers DifferencesTo(const Numbers& reference, const Numbers& numbers) {
  Numbers differences;
  for (const std::size_t i : OrderOf(reference)) {
    const auto difference = static_cast<std::int64_t>(numbers[i] - reference[i]);
    differences.push_back((static_cast<std::uint64_t>(difference) << 1) ^
                          static_cast<std::uint64_t>(difference >> 63));
  }
  return differences;
}

Numbers FromDifferences(const Numbers& reference, const Numbers& differences) {
  Numbers numbers(differences.size());
  const std::vector<std::size_t> order = OrderOf(reference);
  for (std::size_t place = 0; place < order.size(); ++place) {
    const std::uint64_t code = differences[place];
    numbers[order[place]] = reference[order[place]] + ((code >> 1) ^ (0 - (code & 1)));
  }
  return numbers;
}

}  // namespace

void NumberListWriter::AddPlanes(const Numbers& numbers, int flag) {
  const std::uint64_t largest = numbers.empty() ? 0 : std::ranges::max(numbers);
  int width = 0;
  for (; width < kMaxWidth && (largest >> (8 * width)) != 0; ++width) {
    for (const std::uint64_t number : numbers) {
      bytes_ += static_cast<char>(number >> (8 * width));
    }
  }
  widths_ += static_cast<char>(width | flag);
}

void NumberListWriter::AddValues(const Numbers& numbers) {
  const bool is_comparable = numbers.size() == reference_.size();
  const Numbers differences = is_comparable ? DifferencesTo(reference_, numbers) : Numbers();
  if (is_comparable && BitsOf(differences) < BitsOf(numbers)) {
    AddPlanes(differences, kOfDifferences);
  } else {
    AddPlanes(numbers, 0);
  }
  if (numbers.size() > longest_.size()) {
    longest_ = numbers;
  }
}

void NumberListWriter::WriteTo(ByteWriter& out) const {
  out.Text(widths_);
  out.Text(bytes_);
}

NumberListReader::NumberListReader(ByteReader& in, Numbers reference)
    : widths_(in.Text()),
      bytes_(in.Text()),
      reference_(std::move(reference)),
      failed_(in.failed()) {}

// Too large after the last list.
int NumberListReader::NextWidth() const {
  return list_ < widths_.size() ? static_cast<unsigned char>(widths_[list_]) : kMaxWidth + 1;
}

Numbers NumberListReader::NextValues(std::size_t count) {
  const bool is_of_differences = (NextWidth() & kOfDifferences) != 0;
  Numbers numbers = Next(count);
  failed_ = failed_ || (is_of_differences && numbers.size() != reference_.size());
  if (is_of_differences && !failed_) {
    numbers = FromDifferences(reference_, numbers);
  }
  if (numbers.size() > longest_.size()) {
    longest_ = numbers;
  }
  return numbers;
}

Numbers NumberListReader::Next(std::size_t count) {
  const int width = NextWidth() & ~kOfDifferences;
  ++list_;
  failed_ = failed_ || width > kMaxWidth ||
            static_cast<std::size_t>(width) * count > bytes_.size() - place_;
  if (failed_) {
    return {};
  }
  Numbers numbers(count);
  for (int plane = 0; plane < width; ++plane) {
    for (std::uint64_t& number : numbers) {
      number |= std::uint64_t{static_cast<unsigned char>(bytes_[place_])} << (8 * plane);
      ++place_;
    }
  }
  return numbers;
}

}  // namespace orrery
