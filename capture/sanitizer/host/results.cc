#include "capture/sanitizer/host/results.h"

#include <algorithm>
#include <bit>
#include <map>

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

namespace codes = stream::codes;

constexpr const char* kMergedForRoom = "no room for their records: counted with another";
constexpr const char* kMergedNodes =
    "nodes of graphs: those launched into one stream are counted together";
constexpr const char* kMixedNodes =
    "graphs in several streams at once: counts of one may be the other's";
constexpr const char* kOtherMemory =
    "nodes of graphs counted with the memory that an earlier one saw: newer memory counts as "
    "unknown";

constexpr std::uint64_t kLaneMask = (std::uint64_t{1} << kLaneBits) - 1;

void Add(const SlotCounters& slot, stream::Touch& counts) {
  counts.read_bytes += slot.read_bytes;
  counts.write_bytes += slot.write_bytes;
  counts.atomic_bytes += slot.atomic_bytes;
  counts.sectors += slot.sectors;
  counts.lanes += slot.lanes_and_warps & kLaneMask;
  counts.warps += slot.lanes_and_warps >> kLaneBits;
}

bool IsTouched(const std::vector<stream::Touch>& counts, std::uint64_t object) {
  return std::ranges::binary_search(counts, object, {}, &stream::Touch::object);
}

std::uint64_t ObjectOf(const PendingLaunch& launch, const Argument& argument) {
  return launch.objects->objects[argument.range];
}

void WriteTouches(Recorder& recorder, const PendingLaunch& launch,
                  std::vector<stream::Touch> counts) {
  for (stream::Touch& touch : counts) {
    touch.launch = launch.number;
    recorder.Write(touch);
  }
}

void WritePagesOf(Recorder& recorder, const PendingLaunch& launch, std::uint64_t object,
                  const std::vector<std::size_t>& ranges,
                  std::span<const std::uint32_t> page_bits) {
  std::vector<PageRun> runs;
  for (const std::size_t range : ranges) {
    AppendTouchedPages(*launch.objects, range, page_bits, runs);
  }
  if (runs.empty()) {
    return;
  }
  const EncodedPages pages(runs);
  stream::PageTouch record{.launch = launch.number,
                           .object = object,
                           .page_bytes = std::uint64_t{1} << launch.objects->page_shift};
  pages.FillIn(record);
  recorder.Write(record);
}

// The ranges of touched objects, by object in ascending order.
std::vector<std::vector<std::size_t>> RangesOf(const PendingLaunch& launch,
                                               const std::vector<stream::Touch>& counts) {
  std::vector<std::vector<std::size_t>> ranges(counts.size());
  for (std::size_t range = 0; range < launch.objects->objects.size(); ++range) {
    const std::uint64_t object = launch.objects->objects[range];
    const auto found = std::ranges::lower_bound(counts, object, {}, &stream::Touch::object);
    if (found != counts.end() && found->object == object) {
      ranges[static_cast<std::size_t>(found - counts.begin())].push_back(range);
    }
  }
  return ranges;
}

void WritePages(Recorder& recorder, const PendingLaunch& launch,
                const std::vector<stream::Touch>& counts,
                std::span<const std::uint32_t> page_bits) {
  if (page_bits.empty()) {
    return;
  }
  const auto ranges = RangesOf(launch, counts);
  for (std::size_t index = 0; index < counts.size(); ++index) {
    WritePagesOf(recorder, launch, counts[index].object, ranges[index], page_bits);
  }
}

void WriteArgument(Recorder& recorder, std::uint64_t launch, std::uint64_t object,
                   const Argument& argument) {
  if (argument.map != 0) {
    recorder.Write(stream::LaunchMap{
        .launch = launch, .object = object, .map = argument.map, .offset = argument.offset});
  } else {
    recorder.Write(stream::LaunchArgument{.launch = launch,
                                          .object = object,
                                          .address = argument.address,
                                          .offset = argument.offset});
  }
}

// Objects that have counted accesses need no weaker word on them.
void WriteArguments(Recorder& recorder, const PendingLaunch& launch,
                    const std::vector<stream::Touch>& counts) {
  for (const Argument& argument : launch.arguments) {
    const std::uint64_t object = ObjectOf(launch, argument);
    if (argument.map != 0 || (launch.may_use_tensor_maps && !IsTouched(counts, object))) {
      WriteArgument(recorder, launch.number, object, argument);
    }
  }
}

void WriteUnknown(Recorder& recorder, const PendingLaunch& launch,
                  const std::vector<stream::Touch>& counts,
                  std::span<const std::uint64_t> samples) {
  if (counts.empty() || counts.front().object != 0) {
    return;
  }
  stream::CoverageCount count{.kind = codes::kUnknownAddresses,
                              .name = "accesses that no object owns",
                              .count = counts.front().lanes,
                              .device = static_cast<std::int64_t>(launch.device),
                              .launch = launch.number};
  if (samples.empty()) {
    recorder.Write(count);
  }
  for (const std::uint64_t sample : samples) {
    count.address = sample;
    recorder.Write(count);
    count.count = 0;  // the others are further samples of the same accesses
  }
}

void WriteCount(Recorder& recorder, const PendingLaunch& launch, std::uint64_t kind,
                const char* name, std::uint64_t count) {
  if (count != 0) {
    recorder.Write(stream::CoverageCount{.kind = kind,
                                         .name = name,
                                         .count = count,
                                         .device = static_cast<std::int64_t>(launch.device),
                                         .launch = launch.number});
  }
}

void WriteDoubts(Recorder& recorder, const PendingLaunch& launch) {
  WriteCount(recorder, launch, codes::kGraphsNotCovered, kMixedNodes, launch.is_mixed ? 1 : 0);
  WriteCount(recorder, launch, codes::kGraphsNotCovered, kOtherMemory,
             launch.num_with_other_objects);
}

// Writes the arguments of merged launches, which is all that is known of each alone.
void WriteMerged(Recorder& recorder, const PendingLaunch& launch) {
  WriteCount(recorder, launch, codes::kLaunchesMerged,
             launch.is_of_nodes ? kMergedNodes : kMergedForRoom, launch.merged.size());
  for (const MergedLaunch& merged : launch.merged) {
    for (const Argument& argument : merged.arguments) {
      WriteArgument(recorder, merged.number, ObjectOf(launch, argument), argument);
    }
    recorder.Record(stream::LaunchEnd{.launch = merged.number, .coverage = codes::kPartial});
  }
}

std::uint64_t CoverageOfBlock(const PendingLaunch& launch, const std::vector<stream::Touch>& counts,
                              bool is_cut) {
  const std::uint64_t coverage = CoverageOf(launch, counts);
  const bool is_less =
      !launch.merged.empty() || ((is_cut || launch.is_mixed) && coverage == codes::kExact);
  return is_less ? codes::kPartial : coverage;
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

std::vector<stream::Touch> CountsOf(const ObjectSnapshot& objects,
                                    std::span<const SlotCounters> counters) {
  const std::size_t num_slots = objects.num_ranges() + 1;
  std::map<std::uint64_t, stream::Touch> by_object;
  for (std::size_t index = 0; index < counters.size(); ++index) {
    const std::size_t slot = index % num_slots;
    if (counters[index].lanes_and_warps != 0) {
      Add(counters[index], by_object[slot == kUnknownSlot ? 0 : objects.objects[slot - 1]]);
    }
  }
  std::vector<stream::Touch> counts;
  for (auto& [object, touch] : by_object) {
    touch.object = object;
    counts.push_back(touch);
  }
  return counts;
}

std::uint64_t CoverageOf(const PendingLaunch& launch, const std::vector<stream::Touch>& counts) {
  const bool is_sample = launch.choice.block_period > 1;
  if (!launch.may_use_tensor_maps) {
    return is_sample ? codes::kPartial : codes::kExact;
  }
  if (!launch.has_arguments) {
    return codes::kPartial;
  }
  bool has_untouched = false;
  bool has_untouched_word = false;
  for (const Argument& argument : launch.arguments) {
    if (!IsTouched(counts, ObjectOf(launch, argument))) {
      has_untouched = true;
      has_untouched_word = has_untouched_word || argument.map == 0;
    }
  }
  if (!has_untouched) {
    return is_sample ? codes::kPartial : codes::kExact;
  }
  if (!counts.empty() || is_sample) {
    return codes::kPartial;
  }
  return has_untouched_word ? codes::kByArgument : codes::kByDescriptor;
}

void WriteResults(Recorder& recorder, const PendingLaunch& launch, const BlockResults& results,
                  bool is_cut) {
  const std::vector<stream::Touch> counts = CountsOf(*launch.objects, results.counters);
  WriteTouches(recorder, launch, counts);
  WritePages(recorder, launch, counts, results.page_bits);
  WriteArguments(recorder, launch, counts);
  WriteUnknown(recorder, launch, counts, results.unknown_samples);
  recorder.Record(stream::LaunchEnd{.launch = launch.number,
                                    .coverage = CoverageOfBlock(launch, counts, is_cut)});
  WriteMerged(recorder, launch);
  WriteDoubts(recorder, launch);
}

void WriteLost(Recorder& recorder, const PendingLaunch& launch) {
  recorder.Count(codes::kLaunchesSkipped, "its results could not be read",
                 1 + launch.merged.size());
  recorder.Record(stream::LaunchEnd{.launch = launch.number});
  for (const MergedLaunch& merged : launch.merged) {
    recorder.Record(stream::LaunchEnd{.launch = merged.number});
  }
}

}  // namespace orrery::capture::sanitizer
