#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/base/lookup.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/nvbit_mem_trace/line.h"
#include "orrery/ingest/registry.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/finish.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::nvbit_mem_trace {
namespace {

/// Pages that accesses are counted by.
inline constexpr std::int64_t kPageBytes = 4096;

constexpr std::uint64_t kSectorBytes = 32;

bool IsActive(const AccessLine& access, std::size_t lane) {
  return (access.lane_mask >> lane & 1) != 0;
}

// Calls `visit(address)` for each active lane.
template <typename Visit>
void ForEachLane(const AccessLine& access, Visit visit) {
  for (std::size_t lane = 0; lane < access.addresses.size(); ++lane) {
    if (IsActive(access, lane)) {
      visit(access.addresses[lane]);
    }
  }
}

// The distance of neighbouring lanes, if it is the same for all active ones.
std::optional<std::int64_t> StrideOf(const AccessLine& access) {
  const auto first = static_cast<std::size_t>(std::countr_zero(access.lane_mask));
  const std::uint32_t others = access.lane_mask & (access.lane_mask - 1);
  if (others == 0) {
    return 0;
  }
  const auto second = static_cast<std::size_t>(std::countr_zero(others));
  const auto between =
      static_cast<std::int64_t>(access.addresses[second] - access.addresses[first]);
  const auto steps = static_cast<std::int64_t>(second - first);
  if (between % steps != 0) {
    return std::nullopt;
  }
  const std::int64_t stride = between / steps;
  for (std::size_t lane = second; lane < access.addresses.size(); ++lane) {
    const std::uint64_t expected =
        access.addresses[first] + static_cast<std::uint64_t>(stride) * (lane - first);
    if (IsActive(access, lane) && access.addresses[lane] != expected) {
      return std::nullopt;
    }
  }
  return stride;
}

// Memory accesses of one launch; objects are unknown.
class LaunchTouches {
 public:
  void Add(const AccessLine& access, const Operation& operation) {
    const int num_lanes = std::popcount(access.lane_mask);
    const std::int64_t bytes = std::int64_t{num_lanes} * operation.bytes;
    atomic_bytes_ += operation.is_atomic ? bytes : 0;
    read_bytes_ += operation.is_read && !operation.is_atomic ? bytes : 0;
    write_bytes_ += operation.is_write && !operation.is_atomic ? bytes : 0;
    lanes_ += num_lanes;
    ++warps_;
    std::set<std::uint64_t> sectors;
    ForEachLane(access, [&](std::uint64_t address) {
      sectors.insert(address / kSectorBytes);
      ++lanes_on_page_[address / kPageBytes];
    });
    sectors_ += static_cast<std::int64_t>(sectors.size());
  }

  // Appends a touch without an object, and the pages.
  void AppendTo(RowId activity, trace::Trace& trace) const {
    trace.touches.Append({.activity = activity,
                          .read_bytes = read_bytes_,
                          .write_bytes = write_bytes_,
                          .atomic_bytes = atomic_bytes_,
                          .sectors = sectors_,
                          .lanes = lanes_,
                          .warps = warps_});
    trace::PageRuns& runs = trace.page_runs;
    std::uint64_t next_page = 0;
    bool has_run = false;
    for (const auto& [page, accesses] : lanes_on_page_) {
      if (has_run && page == next_page && runs.accesses.back() == accesses) {
        ++runs.num_pages.back();
      } else {
        runs.Append({.activity = activity,
                     .address = page * kPageBytes,
                     .num_pages = 1,
                     .page_bytes = kPageBytes,
                     .accesses = accesses});
        has_run = true;
      }
      next_page = page + 1;
    }
  }

  [[nodiscard]] bool empty() const { return warps_ == 0; }

 private:
  std::int64_t read_bytes_ = 0;
  std::int64_t write_bytes_ = 0;
  std::int64_t atomic_bytes_ = 0;
  std::int64_t sectors_ = 0;
  std::int64_t lanes_ = 0;
  std::int64_t warps_ = 0;
  std::map<std::uint64_t, std::int64_t> lanes_on_page_;
};

// Appends a single access: by a rule if all active lanes follow one, else lane by lane.
void AppendAccess(const AccessLine& access, const Operation& operation, trace::Accesses::Row row,
                  trace::Trace& trace) {
  const auto first = static_cast<std::size_t>(std::countr_zero(access.lane_mask));
  row.warp = access.warp;
  row.lane_mask = access.lane_mask;
  row.access_bytes = operation.bytes;
  row.is_read = operation.is_read ? 1 : 0;
  row.is_write = operation.is_write ? 1 : 0;
  row.is_atomic = operation.is_atomic ? 1 : 0;
  if (const auto stride = StrideOf(access)) {
    row.stride = *stride;
    row.address = access.addresses[first] - static_cast<std::uint64_t>(*stride) * first;
  } else {
    row.address = access.addresses[first];
    row.first_lane = static_cast<RowId>(trace.access_lanes.size());
    ForEachLane(access,
                [&](std::uint64_t address) { trace.access_lanes.Append({.address = address}); });
  }
  trace.accesses.Append(row);
}

/// Calls `visit(line, number)` for each line, without its end, numbered from 1. A line longer than
/// a window of 1 MiB comes in pieces.
template <typename Visit>
Status ForEachLine(ByteSource& source, Visit visit) {
  constexpr std::size_t kWindowBytes = 1 << 20;
  std::string window;
  std::int64_t number = 0;
  while (true) {
    const std::size_t kept = window.size();
    window.resize(std::max(kWindowBytes, kept + 1));
    ORRERY_TRY(const std::size_t count, ReadFully(source, std::span(window).subspan(kept)));
    window.resize(kept + count);
    std::size_t begin = 0;
    for (std::size_t end = window.find('\n'); end != std::string::npos;
         end = window.find('\n', begin)) {
      visit(std::string_view(window).substr(begin, end - begin), ++number);
      begin = end + 1;
    }
    window.erase(0, begin);
    const bool is_end = count == 0;
    if (!window.empty() && (is_end || window.size() >= kWindowBytes)) {
      visit(std::string_view(window), ++number);
      window.clear();
    }
    if (is_end) {
      return {};
    }
  }
}

constexpr std::string_view kMarker = "MEMTRACE: CTX ";

// A launch with an access is seen; access lines name launches, so they come in any order.
class Recording {
 public:
  explicit Recording(trace::Trace& trace) : trace_(trace) {}

  void Add(std::string_view line, std::int64_t number) {
    const auto read = ReadLine(line);
    if (const auto* const launch = std::get_if<LaunchLine>(&read)) {
      last_id_ = launch->id;
      launch_of_id_[launch->id] = Append(*launch);
    } else if (const auto* const access = std::get_if<AccessLine>(&read)) {
      AddAccess(*access);
    } else if (IsToolLine(line)) {
      trace_.problems.Loss("mem_trace line that cannot be parsed", 1,
                           fmt::format("line {}", number));
    } else {
      trace_.problems.Note("line not written by mem_trace", line.empty() ? 0 : 1);
    }
  }

  // Rows of launches are in order of their numbers, so FinishTrace leaves them where they are.
  void Finish() {
    for (RowId row = 0; row < touches_.size(); ++row) {
      trace_.observations.Append(
          {.activity = row,
           .order = row,
           .coverage = touches_[row].empty() ? trace::Coverage::kUnseen : trace::Coverage::kExact});
      if (!touches_[row].empty()) {
        touches_[row].AppendTo(row, trace_);
      }
    }
    trace_.problems.Note("launch without a time", static_cast<std::int64_t>(touches_.size()));
    trace_.problems.Note("access to shared or local memory, skipped", num_not_global_);
  }

  [[nodiscard]] bool empty() const { return touches_.empty(); }

 private:
  RowId Append(const LaunchLine& launch) {
    const auto [x, y, z] = launch.grid;
    const auto [block_x, block_y, block_z] = launch.block;
    const RowId shape =
        trace_.launch_shapes.Append({.grid_x = SmallOrUnknown(x),
                                     .grid_y = SmallOrUnknown(y),
                                     .grid_z = SmallOrUnknown(z),
                                     .block_x = SmallOrUnknown(block_x),
                                     .block_y = SmallOrUnknown(block_y),
                                     .block_z = SmallOrUnknown(block_z),
                                     .registers_per_thread = SmallOrUnknown(launch.registers),
                                     .shared_memory_bytes = launch.shared_bytes});
    touches_.emplace_back();
    grids_.push_back(launch.grid);
    return trace_.activities.Append({.begin_ns = static_cast<std::int64_t>(touches_.size()) - 1,
                                     .name = trace_.strings.Intern(launch.name),
                                     .track = TrackOf(launch.context, launch.stream),
                                     .shape = shape});
  }

  // The n-th context is taken for the n-th device.
  RowId TrackOf(std::uint64_t context, std::int64_t stream) {
    const auto device = device_of_context_.try_emplace(
        context, static_cast<std::int32_t>(device_of_context_.size()));
    return FindOrAdd(track_of_stream_, std::pair(context, stream), [&] {
      return trace_.tracks.Append(
          {.kind = trace::TrackKind::kDevice,
           .process = device.first->second,
           .thread = stream,
           .device = device.first->second,
           .name = trace_.strings.Intern(fmt::format("stream {}", stream))});
    });
  }

  void AddAccess(const AccessLine& access) {
    const RowId launch = LaunchOf(access);
    const Operation operation = OperationOf(access.opcode);
    if (!operation.is_global || access.lane_mask == 0) {
      num_not_global_ += operation.is_global ? 0 : 1;
      return;
    }
    touches_[launch].Add(access, operation);
    AppendAccess(access, operation, {.activity = launch, .block = BlockOf(access, launch)}, trace_);
  }

  // Some versions print a launch's number after incrementing it. Accesses come after their
  // launch, so the first one tells.
  RowId LaunchOf(const AccessLine& access) {
    if (!knows_shift_) {
      knows_shift_ = true;
      shift_ = !launch_of_id_.empty() && last_id_ == access.launch + 1 ? 1 : 0;
    }
    const std::int64_t id = access.launch + shift_;
    const auto known = launch_of_id_.find(id);
    if (known != launch_of_id_.end()) {
      return known->second;
    }
    trace_.problems.Loss("launch referenced by accesses that has no launch line");
    const std::string name = fmt::format("launch {}", access.launch);
    return launch_of_id_[id] = Append({.context = access.context, .name = name, .id = id});
  }

  // PASTA defect 35: all three indexes count.
  [[nodiscard]] std::int64_t BlockOf(const AccessLine& access, RowId launch) const {
    const auto [x, y, z] = access.block;
    const auto [size_x, size_y, size_z] = grids_[launch];
    if (size_x <= 0 || size_y <= 0) {
      return x;
    }
    const std::int64_t row = y + (z < (std::int64_t{1} << 16) ? z * size_y : 0);
    return row < (std::int64_t{1} << 31) ? x + row * size_x : x;
  }

  trace::Trace& trace_;
  std::vector<LaunchTouches> touches_;              // of each launch
  std::vector<std::array<std::int64_t, 3>> grids_;  // of each launch
  std::map<std::int64_t, RowId> launch_of_id_;
  std::map<std::uint64_t, std::int32_t> device_of_context_;
  std::map<std::pair<std::uint64_t, std::int64_t>, RowId> track_of_stream_;
  std::int64_t last_id_ = 0;
  std::int64_t shift_ = 0;
  bool knows_shift_ = false;
  std::int64_t num_not_global_ = 0;
};

bool Matches(const InputFile& file) {
  return file.head().find(kMarker) != std::string_view::npos &&
         file.head().find('\0') == std::string_view::npos;
}

Result<FileContent> Read(const InputFile& file, const ReadOptions& options) {
  ORRERY_TRY(const std::unique_ptr<ByteSource> source, file.OpenContent());
  FileContent content;
  trace::Trace& trace = content.traces.emplace_back();
  trace.info.format = "NVBit mem_trace";
  trace.info.producer = "NVBit mem_trace";
  trace.info.files = {file.path()};
  Recording recording(trace);
  ORRERY_TRY_STATUS(ForEachLine(
      *source, [&](std::string_view line, std::int64_t number) { recording.Add(line, number); }));
  if (recording.empty()) {
    return Fail(Error::Kind::kInvalidInput, "no launch and no access that Orrery understands");
  }
  recording.Finish();
  if (const std::string damage = source->damage(); !damage.empty()) {
    trace.problems.Loss("file that ends early", 1, damage);
  }
  trace::FinishTrace(trace, {.step_marker = options.step_marker});
  return content;
}

}  // namespace

// The text that NVBit's example tool mem_trace prints: launches and the addresses of each warp's
// accesses. There are no times (launches are in order, a nanosecond apart) and no allocations, so
// objects are unknown and pages are the finest that can be said of memory as a whole.
constinit const Format kFormat{.name = "NVBit mem_trace", .matches = Matches, .read = Read};

}  // namespace orrery::ingest::nvbit_mem_trace
