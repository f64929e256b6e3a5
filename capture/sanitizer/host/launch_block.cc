#include "capture/sanitizer/host/launch_block.h"

#include <algorithm>
#include <cstring>

namespace orrery::capture::sanitizer {
namespace {

constexpr std::uint64_t kPartAlignment = 128;
constexpr std::uint64_t kPagesPerWord = 32;

std::uint64_t Aligned(std::uint64_t bytes) {
  return (bytes + kPartAlignment - 1) / kPartAlignment * kPartAlignment;
}

std::uint64_t NumCounters(const PendingLaunch& launch) {
  return (launch.modes & kCountMode) == 0
             ? 0
             : std::uint64_t{launch.num_shards} * (launch.objects->num_ranges() + 1);
}

std::uint64_t NumPageWords(const PendingLaunch& launch) {
  return (launch.modes & kPageMode) == 0
             ? 0
             : (launch.objects->num_page_bits + kPagesPerWord - 1) / kPagesPerWord;
}

template <typename T>
T* DevicePointer(std::uint64_t address) {
  return reinterpret_cast<T*>(address);  // NOLINT(performance-no-int-to-ptr): the device's
}

// The first arguments are the likeliest; one hint for each range.
void FillHints(const PendingLaunch& launch, LaunchRecord& record) {
  for (const Argument& argument : launch.arguments) {
    if (record.num_hints == kMaxHints) {
      return;
    }
    const Range& range = launch.objects->ranges[argument.range];
    record.hints[record.num_hints++] = {range.begin, range.end, argument.range + 1, 0};
  }
}

template <typename T>
void CopyAll(const std::vector<T>& values, std::byte* destination) {
  if (!values.empty()) {
    std::memcpy(destination, values.data(), values.size() * sizeof(T));
  }
}

}  // namespace

BlockLayout LayoutFor(const PendingLaunch& launch) {
  BlockLayout layout;
  layout.ranges = Aligned(sizeof(LaunchRecord));
  layout.first_page_bit = layout.ranges + Aligned(launch.objects->num_ranges() * sizeof(Range));
  layout.upload_bytes =
      layout.first_page_bit + Aligned(launch.objects->num_ranges() * sizeof(std::uint32_t));
  layout.counters = layout.upload_bytes;
  layout.page_bits = layout.counters + Aligned(NumCounters(launch) * sizeof(SlotCounters));
  layout.bytes = layout.page_bits + Aligned(NumPageWords(launch) * sizeof(std::uint32_t));
  return layout;
}

void FillBlock(const PendingLaunch& launch, std::uint64_t address, AccessRing* ring,
               std::byte* staging) {
  const BlockLayout& layout = launch.layout;
  LaunchRecord record{};
  record.ranges = DevicePointer<Range>(address + layout.ranges);
  record.counters = DevicePointer<SlotCounters>(address + layout.counters);
  record.page_bits = DevicePointer<std::uint32_t>(address + layout.page_bits);
  record.first_page_bit = DevicePointer<std::uint32_t>(address + layout.first_page_bit);
  record.ring = ring;
  record.launch = launch.number;
  record.num_ranges = launch.objects->num_ranges();
  record.num_shards = launch.num_shards;
  record.page_shift = launch.objects->page_shift;
  record.modes = launch.modes;
  record.first_block = launch.choice.first_block;
  record.block_period = launch.choice.block_period;
  FillHints(launch, record);
  std::memcpy(staging, &record, sizeof(record));
  CopyAll(launch.objects->ranges, staging + layout.ranges);
  CopyAll(launch.objects->first_page_bit, staging + layout.first_page_bit);
}

BlockResults ResultsIn(const PendingLaunch& launch, const std::byte* block) {
  const BlockLayout& layout = launch.layout;
  const auto* const record = reinterpret_cast<const LaunchRecord*>(block);
  const std::size_t num_samples =
      std::min<std::size_t>(record->num_unknown_samples, kMaxUnknownSamples);
  return {.counters = {reinterpret_cast<const SlotCounters*>(block + layout.counters),
                       NumCounters(launch)},
          .page_bits = {reinterpret_cast<const std::uint32_t*>(block + layout.page_bits),
                        NumPageWords(launch)},
          .unknown_samples = {record->unknown_samples, num_samples}};
}

}  // namespace orrery::capture::sanitizer
