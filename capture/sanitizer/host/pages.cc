#include "capture/sanitizer/host/pages.h"

#include <bit>

#include "orrery/stream/codes.h"

namespace orrery::capture::sanitizer {
namespace {

constexpr std::uint32_t kWordBits = 32;

bool IsSet(std::span<const std::uint32_t> bits, std::uint64_t index) {
  return ((bits[index / kWordBits] >> (index % kWordBits)) & 1U) != 0;
}

void AppendPage(std::uint64_t page, std::vector<PageRun>& runs) {
  if (!runs.empty() && page < runs.back().first + runs.back().count) {
    return;
  }
  if (!runs.empty() && page == runs.back().first + runs.back().count) {
    ++runs.back().count;
    return;
  }
  runs.push_back({page, 1});
}

std::uint64_t VarintBytes(std::uint64_t number) {
  return number == 0 ? 1 : (static_cast<std::uint64_t>(std::bit_width(number)) + 6) / 7;
}

std::string BitmapOf(std::span<const PageRun> runs, std::uint64_t bytes) {
  std::string bitmap(bytes, '\0');
  for (const PageRun& run : runs) {
    for (std::uint64_t page = run.first; page < run.first + run.count; ++page) {
      const std::uint64_t bit = page - runs.front().first;
      bitmap[bit / 8] = static_cast<char>(bitmap[bit / 8] | (1 << (bit % 8)));
    }
  }
  return bitmap;
}

}  // namespace

void AppendTouchedPages(const ObjectSnapshot& objects, std::size_t range,
                        std::span<const std::uint32_t> page_bits, std::vector<PageRun>& runs) {
  const std::uint64_t first_bit = objects.first_page_bit[range];
  const std::uint64_t first_page = objects.ranges[range].begin >> objects.page_shift;
  const std::uint64_t last_page = (objects.ranges[range].end - 1) >> objects.page_shift;
  const std::uint64_t num_pages = last_page - first_page + 1;
  for (std::uint64_t index = 0; index < num_pages;) {
    const std::uint64_t bit = first_bit + index;
    if (bit % kWordBits == 0 && page_bits[bit / kWordBits] == 0) {
      index += kWordBits;  // large objects are mostly untouched or touched in one piece
      continue;
    }
    if (IsSet(page_bits, bit)) {
      AppendPage(first_page + index, runs);
    }
    ++index;
  }
}

EncodedPages::EncodedPages(std::span<const PageRun> runs) {
  if (runs.empty()) {
    return;
  }
  first_page_ = runs.front().first;
  std::uint64_t next = first_page_;
  std::uint64_t bytes_as_runs = 0;
  for (const PageRun& run : runs) {
    numbers_.push_back(run.first - next);
    numbers_.push_back(run.count);
    bytes_as_runs += VarintBytes(run.first - next) + VarintBytes(run.count);
    next = run.first + run.count;
  }
  const std::uint64_t bytes_as_bits = (next - first_page_ + 7) / 8;
  if (bytes_as_bits < bytes_as_runs) {
    bitmap_ = BitmapOf(runs, bytes_as_bits);
  }
}

void EncodedPages::FillIn(stream::PageTouch& record) const {
  record.first_page = first_page_;
  if (bitmap_.empty()) {
    record.form = stream::codes::kRuns;
    record.numbers = numbers_;
    return;
  }
  record.form = stream::codes::kBitmap;
  record.bitmap = bitmap_;
}

}  // namespace orrery::capture::sanitizer
