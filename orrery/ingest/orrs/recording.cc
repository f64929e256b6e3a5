#include "orrery/ingest/orrs/recording.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include <fmt/core.h>

#include "orrery/base/columns.h"
#include "orrery/base/lookup.h"
#include "orrery/base/string_table.h"
#include "orrery/ingest/orrs/numbers.h"
#include "orrery/stream/chunk_file.h"
#include "orrery/stream/codes.h"  // IWYU pragma: keep (enumerators through an alias)
#include "orrery/stream/format.h"
#include "orrery/stream/reader.h"
#include "orrery/stream/record_codec.h"
#include "orrery/stream/schema.h"
#include "orrery/stream/visit.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/tables.h"

namespace orrery::ingest::orrs {
namespace {

namespace codes = stream::codes;

// Appends a row for each run of neighbouring pages with equal counts; `row` has activity and
// object. False, and nothing appended, if the record is invalid.
bool AppendPages(const stream::PageTouch& pages, trace::PageRuns::Row row, trace::PageRuns& runs) {
  const auto& numbers = pages.numbers;
  if (pages.page_bytes == 0 || pages.form > codes::kCounts ||
      (pages.form == codes::kRuns && numbers.size() % 2 != 0)) {
    return false;
  }
  row.page_bytes = Signed(pages.page_bytes);
  std::uint64_t end = 0;
  const auto flush = [&] {
    if (row.num_pages > 0) {
      runs.Append(row);
      row.num_pages = 0;
    }
  };
  // Pages come in ascending order.
  const auto add = [&](std::uint64_t page, std::uint64_t num_pages, std::int64_t accesses) {
    if (num_pages == 0) {
      return;
    }
    if (row.num_pages == 0 || page != end || accesses != row.accesses) {
      flush();
      row.address = (pages.first_page + page) * static_cast<std::uint64_t>(row.page_bytes);
      row.accesses = accesses;
    }
    row.num_pages = Signed(Plus(static_cast<std::uint64_t>(row.num_pages), num_pages));
    end = page + num_pages;
  };
  if (pages.form == codes::kBitmap) {
    for (std::size_t page = 0; page < 8 * pages.bitmap.size(); ++page) {
      add(page, static_cast<unsigned char>(pages.bitmap[page / 8]) >> (page % 8) & 1, -1);
    }
  } else if (pages.form == codes::kRuns) {
    std::uint64_t page = 0;
    for (std::size_t pair = 0; pair + 1 < numbers.size(); pair += 2) {
      page += numbers[pair];
      add(page, numbers[pair + 1], -1);
      page += numbers[pair + 1];
    }
  } else {
    for (std::size_t page = 0; page < numbers.size(); ++page) {
      add(page, numbers[page] > 0 ? 1 : 0, Signed(numbers[page]));
    }
  }
  flush();
  return true;
}

constexpr std::uint64_t kAllLanes = 0xFFFFFFFF;

template <typename Record>
concept Listed =
    std::is_same_v<Record, stream::LaunchMap> || std::is_same_v<Record, stream::LaunchArgument> ||
    std::is_same_v<Record, stream::SourceLine> || Record::kChunk == stream::ChunkType::kEvents ||
    Record::kChunk == stream::ChunkType::kObjects;

template <typename Record>
concept Named = std::is_same_v<Record, stream::String> || std::is_same_v<Record, stream::Stack> ||
                std::is_same_v<Record, stream::Function>;

// From the first byte of the map to the end of its last element. Strides are those of the second
// dimension and up; elements of the first lie side by side.
std::uint64_t ExtentOf(const stream::TensorMap& map) {
  if (map.shape.empty()) {
    return 0;
  }
  std::uint64_t extent = Times(map.element_bytes, map.shape[0]);
  for (std::size_t dimension = 1; dimension < map.shape.size(); ++dimension) {
    const std::uint64_t steps = map.shape[dimension] == 0 ? 0 : map.shape[dimension] - 1;
    const bool has_stride = dimension <= map.strides_bytes.size();
    extent = Plus(extent, Times(steps, has_stride ? map.strides_bytes[dimension - 1] : 0));
  }
  return extent;
}

static_assert(static_cast<std::uint64_t>(trace::CoverageKind::kLaunchesMerged) ==
              codes::kLaunchesMerged);
static_assert(static_cast<std::uint64_t>(trace::OverheadPhase::kTotal) == codes::kTotal);

}  // namespace

StringId Names::Text(std::uint64_t id) {
  return id == 0 ? StringId::kEmpty : FindOrAdd(text_of_string_, id, [&] {
    ++num_missing_;
    return strings_->Intern(fmt::format("string {}", id));
  });
}

StringId Names::Stack(std::uint64_t id) {
  return id == 0 ? StringId::kEmpty : FindOrAdd(text_of_stack_, id, [&] {
    const auto frames = frames_of_stack_.find(id);
    if (frames == frames_of_stack_.end()) {
      ++num_missing_;
      return strings_->Intern(fmt::format("stack {}", id));
    }
    std::string text;
    for (const std::uint64_t frame : frames->second) {
      text += text.empty() ? "" : "\n";
      text += strings_->View(Text(frame));
    }
    return strings_->Intern(text);
  });
}

StringId Names::Function(std::uint64_t id) {
  if (const auto known = name_of_function_.find(id); known != name_of_function_.end()) {
    return Text(known->second);
  }
  ++num_missing_;
  return strings_->Intern(fmt::format("function {}", id));
}

void Recording::Add(const stream::Chunk& chunk, const stream::OrderRange& range) {
  const auto take = [&]<typename Record>(const Record& record) {
    if constexpr (stream::Ordered<Record>) {
      if (!range.Holds(stream::OrderOf(record))) {
        return;
      }
    }
    if constexpr (Named<Record>) {
      names.Add(record);
    } else if constexpr (Listed<Record>) {
      All<Record>().push_back(record);
    } else {
      Take(record);
    }
  };
  const stream::RecordLosses losses = stream::ForEachRecord(chunk, take);
  const std::string place = fmt::format("byte {}", chunk.offset);
  trace->problems.Loss("invalid record", Signed(losses.num_unreadable), place);
  trace->problems.Loss("record of a kind that a newer Orrery writes, skipped",
                       Signed(losses.num_unknown_kinds), place);
}

RowId Recording::HostTrack(std::uint64_t thread) {
  return FindOrAdd(track_of_thread_, thread, [&] {
    return trace->tracks.Append(
        {.kind = trace::TrackKind::kHost, .process = process_, .thread = Signed(thread)});
  });
}

RowId Recording::DeviceTrack(std::uint64_t device, std::uint64_t context, std::uint64_t stream) {
  return FindOrAdd(track_of_stream_, std::array{device, context, stream}, [&] {
    const std::string name = context == 0 ? fmt::format("stream {}", stream)
                                          : fmt::format("context {} stream {}", context, stream);
    return trace->tracks.Append({.kind = trace::TrackKind::kDevice,
                                 .process = Small(device),
                                 .thread = Signed(stream),
                                 .device = Small(device),
                                 .name = trace->strings.Intern(name)});
  });
}

void Recording::Take(const stream::Process& process) {
  process_ = Signed(process.process);
  trace->info.producer = process.producer;
  trace->info.host_name = process.host;
  trace->info.rank = SmallOrNone(process.rank);
  trace->info.world_size = SmallOrNone(process.world_size);
  trace->info.time_origin = process.time_origin == codes::kEpoch ? trace::TimeOrigin::kEpoch
                            : process.time_origin == codes::kRecordingStart
                                ? trace::TimeOrigin::kRecordingStart
                                : trace::TimeOrigin::kUnknown;
  const auto add = [this](std::string_view key, std::string_view value) {
    if (!value.empty()) {
      Take(stream::Setting{.key = key, .value = value});
    }
  };
  add("process", std::to_string(process.process));
  add("driver", process.driver);
  add("toolkit", process.toolkit);
  add("framework", process.framework);
}

void Recording::Take(const stream::Device& device) {
  trace->devices.Append({.id = Small(device.device),
                         .name = trace->strings.Intern(device.name),
                         .memory_bytes = device.memory_bytes,
                         .multiprocessors = SmallOrNone(device.multiprocessors),
                         .compute_major = SmallOrNone(device.compute_major),
                         .compute_minor = SmallOrNone(device.compute_minor),
                         .extra = device.uuid.empty() ? StringId::kEmpty
                                                      : trace->strings.Intern(fmt::format(
                                                            R"("uuid":"{}")", device.uuid))});
}

void Recording::Take(const stream::ClockPair& pair) {
  Take(stream::Setting{.key = fmt::format("clock of device {}", pair.device),
                       .value = fmt::format("{} at {}", pair.device_ns, pair.host_ns)});
}

void Recording::Take(const stream::Setting& setting) {
  trace->metadata.Append(
      {.key = trace->strings.Intern(setting.key), .value = trace->strings.Intern(setting.value)});
}

void Recording::Take(const stream::Module& module) {
  std::string hash;
  for (const char byte : module.hash) {
    hash += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  }
  Take(stream::Setting{.key = fmt::format("module {}", module.id), .value = hash});
}

void Recording::Take(const stream::Touch& touch) {
  trace->touches.Append({.activity = launches.NumberOf(touch.launch),
                         .object = objects.NumberOf(touch.object),
                         .coverage = CoverageOf(touch.coverage),
                         .read_bytes = Signed(touch.read_bytes),
                         .write_bytes = Signed(touch.write_bytes),
                         .atomic_bytes = Signed(touch.atomic_bytes),
                         .sectors = Signed(touch.sectors),
                         .lanes = Signed(touch.lanes),
                         .warps = Signed(touch.warps)});
}

void Recording::Take(const stream::PageTouch& pages) {
  const trace::PageRuns::Row row{.activity = launches.NumberOf(pages.launch),
                                 .object = objects.NumberOf(pages.object)};
  if (!AppendPages(pages, row, trace->page_runs)) {
    trace->problems.Loss("invalid list of pages");
  }
}

void Recording::Take(const stream::TensorMap& map) {
  maps.push_back({.id = map.id, .address = map.address, .bytes = ExtentOf(map)});
}

void Recording::Take(const stream::WarpAccess& access) {
  const std::uint64_t lane_mask = kAllLanes & ~access.inactive_lanes;
  trace::Accesses::Row row{.activity = launches.NumberOf(access.launch),
                           .pc = access.pc,
                           .block = Signed(access.block),
                           .warp = Signed(access.warp),
                           .lane_mask = lane_mask,
                           .access_bytes = Small(access.access_bytes),
                           .is_read = (access.flags & codes::kRead) != 0,
                           .is_write = (access.flags & codes::kWrite) != 0,
                           .is_atomic = (access.flags & codes::kAtomic) != 0,
                           .address = access.address};
  if (access.form == codes::kAffine) {
    row.stride = access.stride;
  } else if (access.form == codes::kGeneral) {
    if (access.offsets.size() != static_cast<std::size_t>(std::popcount(lane_mask))) {
      trace->problems.Loss("access whose lanes and addresses disagree");
      return;
    }
    row.first_lane = static_cast<RowId>(trace->access_lanes.size());
    for (const std::uint64_t offset : access.offsets) {
      trace->access_lanes.Append(
          {.address = access.address + static_cast<std::uint64_t>(stream::UnZigZag(offset))});
    }
  }
  trace->accesses.Append(row);
}

void Recording::Take(const stream::CoverageCount& count) {
  if (count.kind == codes::kRecordingEnded) {
    has_end = true;
    return;
  }
  if (count.kind == codes::kRecordsDropped) {
    trace->problems.Loss("record dropped by the recorder", Signed(count.count), count.name);
  }
  trace->coverage_counts.Append({.kind = count.kind <= codes::kLaunchesMerged
                                             ? static_cast<trace::CoverageKind>(count.kind)
                                             : trace::CoverageKind::kOther,
                                 .name = trace->strings.Intern(count.name),
                                 .count = Signed(count.count),
                                 .device = SmallOrNone(count.device),
                                 .activity = launches.NumberOf(count.launch),
                                 .address = count.address});
}

void Recording::Take(const stream::Overhead& overhead) {
  trace->overheads.Append({.phase = static_cast<trace::OverheadPhase>(
                               std::min<std::uint64_t>(overhead.phase, codes::kTotal)),
                           .total_ns = Signed(overhead.total_ns),
                           .count = Signed(overhead.count),
                           .bytes = Signed(overhead.bytes),
                           .device = SmallOrNone(overhead.device)});
}

}  // namespace orrery::ingest::orrs
