#include "orrery/ingest/kineto/adjust.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/base/text/text.h"
#include "orrery/ingest/activity_names.h"
#include "orrery/ingest/hlo.h"
#include "orrery/ingest/kineto/assembler.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::kineto {
namespace {

using trace::ActivityKind;
using trace::CopyKind;
using trace::Trace;

// Calls `visit(table)` for each table whose rows have times of the recording.
void ForEachTimedTable(auto& trace, auto visit) {
  ForEachTable(trace, [&]<typename Table>(const char*, Table& table) {
    if constexpr (requires { table.begin_ns; } &&
                  !std::is_same_v<std::remove_const_t<Table>, trace::GraphNodes>) {
      visit(table);
    }
  });
}

constexpr std::int64_t kDayNs = std::int64_t{86'400} * 1'000'000'000;

// Limits of the recording: its end, and the longest possible slice.
struct RecordingWindow {
  std::int64_t end_ns = std::numeric_limits<std::int64_t>::min();
  std::int64_t longest_ns = kDayNs;
};

RecordingWindow FindWindow(const Trace& trace) {
  RecordingWindow window;
  const trace::OtherSlices& slices = trace.other_slices;
  std::int64_t begin_ns = std::numeric_limits<std::int64_t>::max();
  for (RowId row = 0; row < slices.size(); ++row) {
    if (trace.Text(slices.category[row]) == "Trace" && slices.duration_ns[row] > 0) {
      begin_ns = std::min(begin_ns, slices.begin_ns[row]);
      window.end_ns = std::max(window.end_ns, slices.begin_ns[row] + slices.duration_ns[row]);
    }
  }
  if (window.end_ns > begin_ns) {
    // Rows may begin before the window opens, so a little more than the window is plausible.
    window.longest_ns = 2 * (window.end_ns - begin_ns) + 1'000'000'000;
    return window;
  }
  ForEachTimedTable(trace, [&](const auto& table) {
    for (const std::int64_t time_ns : table.begin_ns) {
      window.end_ns = std::max(window.end_ns, time_ns);
    }
  });
  return window;
}

CopyKind CopyKindOf(std::string_view name) {
  static constexpr auto kWords = std::to_array<std::pair<std::string_view, CopyKind>>({
      {"HOST_TO_DEVICE", CopyKind::kHostToDevice},
      {"DEVICE_TO_HOST", CopyKind::kDeviceToHost},
      {"DEVICE_TO_DEVICE", CopyKind::kDeviceToDevice},
      {"HostToDevice", CopyKind::kHostToDevice},
      {"DeviceToHost", CopyKind::kDeviceToHost},
      {"DeviceToDevice", CopyKind::kDeviceToDevice},
      {"MemcpyH2D", CopyKind::kHostToDevice},
      {"MemcpyD2H", CopyKind::kDeviceToHost},
      {"MemcpyD2D", CopyKind::kDeviceToDevice},
      {"MemcpyH2H", CopyKind::kHostToHost},
      {"MemcpyP2P", CopyKind::kPeerToPeer},
  });
  for (std::size_t kind = 1; kind + 1 < kCopyDirections.size(); ++kind) {
    if (Contains(name, kCopyDirections[kind])) {
      return static_cast<CopyKind>(kind);
    }
  }
  const auto word =
      std::ranges::find_if(kWords, [&](const auto& entry) { return Contains(name, entry.first); });
  return word == kWords.end() ? CopyKind::kUnknown : word->second;
}

// The activity behind a kernel of the ROCm runtime.
std::optional<ActivityKind> RuntimeKernelKind(std::string_view name) {
  if (name.starts_with("MEMORY_COPY_") || name.starts_with("__amd_rocclr_copyBuffer")) {
    return ActivityKind::kMemcpy;
  }
  if (name.starts_with("__amd_rocclr_fillBuffer")) {
    return ActivityKind::kMemset;
  }
  return std::nullopt;
}

// The properties that a kernel's name gives all activities with it.
struct NameInfo {
  bool asked = false;
  CopyKind copy = CopyKind::kUnknown;
  std::optional<ActivityKind> kind;
};

RowId FindOperator(const trace::HostOps& ops, RowId track, std::int64_t begin_ns) {
  auto row =
      static_cast<RowId>(std::ranges::lower_bound(ops.begin_ns, begin_ns) - ops.begin_ns.begin());
  RowId found = kNoRow;
  // The innermost of those that begin there.
  for (; row < ops.size() && ops.begin_ns[row] == begin_ns; ++row) {
    found = ops.track[row] == track ? row : found;
  }
  return found;
}

enum class XlaPlace { kNone, kDeviceOps, kAsyncOps, kDeviceRange, kHost };

XlaPlace PlaceOf(const Trace& trace, RowId track) {
  const std::string_view process = trace.Text(trace.tracks.process_name[track]);
  const std::string_view thread = trace.Text(trace.tracks.name[track]);
  if (!Contains(process, "/device:")) {
    return Contains(process, "/host:") ? XlaPlace::kHost : XlaPlace::kNone;
  }
  const bool runs_operators = Contains(thread, "XLA Ops") || Contains(thread, "Stream");
  return thread == "Async XLA Ops" ? XlaPlace::kAsyncOps
         : runs_operators          ? XlaPlace::kDeviceOps
                                   : XlaPlace::kDeviceRange;
}

// By the operation's category, which the export has as a string; nothing for what is no work.
std::optional<ActivityKind> XlaActivityKind(std::string_view extra, XlaPlace place) {
  constexpr std::string_view kKey = R"json("hlo_category": ")json";
  if (place == XlaPlace::kDeviceRange) {
    return std::nullopt;
  }
  const std::size_t at = extra.find(kKey);
  if (at == std::string_view::npos) {
    return ActivityKind::kKernel;
  }
  const std::string_view rest = extra.substr(at + kKey.size());
  return ActivityKindOf(ParseHloCategory(rest.substr(0, rest.find('"'))),
                        place == XlaPlace::kAsyncOps);
}

void PlaceXlaSlice(Trace& trace, const trace::OtherSlices::Row& slice, XlaPlace place) {
  if (place == XlaPlace::kNone) {
    trace.other_slices.Append(slice);
    return;
  }
  const auto work =
      place == XlaPlace::kHost ? std::nullopt : XlaActivityKind(trace.Text(slice.extra), place);
  if (!work) {
    trace.annotations.Append({.begin_ns = slice.begin_ns,
                              .duration_ns = slice.duration_ns,
                              .name = slice.name,
                              .track = slice.track,
                              .kind = place == XlaPlace::kHost ? trace::AnnotationKind::kHost
                                                               : trace::AnnotationKind::kDevice,
                              .extra = slice.extra});
  } else {
    trace.activities.Append({.begin_ns = slice.begin_ns,
                             .duration_ns = slice.duration_ns,
                             .name = slice.name,
                             .track = slice.track,
                             .kind = *work,
                             .copy_kind = *work == ActivityKind::kMemcpy
                                              ? HloCopyKind(trace.Text(slice.extra))
                                              : CopyKind::kNone,
                             .extra = slice.extra});
  }
}

}  // namespace

void ShiftTimes(Trace& trace, std::int64_t base_ns) {
  const auto shift = [base_ns](std::int64_t& time_ns) { time_ns += base_ns; };
  ForEachTimedTable(trace, [&](auto& table) { std::ranges::for_each(table.begin_ns, shift); });
  std::ranges::for_each(trace.flows.end_ns, shift);
}

void ClipDurations(Trace& trace) {
  const RecordingWindow window = FindWindow(trace);
  std::int64_t clipped = 0;
  ForEachTimedTable(trace, [&](auto& table) {
    if constexpr (requires { table.duration_ns; }) {
      for (RowId row = 0; row < table.size(); ++row) {
        if (table.duration_ns[row] > window.longest_ns) {
          table.duration_ns[row] = std::max<std::int64_t>(0, window.end_ns - table.begin_ns[row]);
          ++clipped;
        }
      }
    }
  });
  trace.problems.Note("implausible duration, clipped to the end of the recording", clipped);
}

void ClassifyCopies(Trace& trace) {
  std::vector<NameInfo> infos(trace.strings.size());
  trace::Activities& activities = trace.activities;
  std::int64_t reclassified = 0;
  for (RowId row = 0; row < activities.size(); ++row) {
    NameInfo& info = infos[static_cast<std::size_t>(activities.name[row])];
    if (!info.asked) {
      const std::string_view name = trace.Text(activities.name[row]);
      info = {.asked = true, .copy = CopyKindOf(name), .kind = RuntimeKernelKind(name)};
    }
    if (activities.kind[row] == ActivityKind::kKernel && info.kind) {
      activities.kind[row] = *info.kind;
      ++reclassified;
    }
    const bool is_known = activities.copy_kind[row] != CopyKind::kNone &&
                          activities.copy_kind[row] != CopyKind::kUnknown;
    if (activities.kind[row] == ActivityKind::kMemcpy && !is_known) {
      activities.copy_kind[row] = info.copy;
    }
  }
  trace.problems.Note("memcpy or memset that ROCm recorded as a kernel, reclassified",
                      reclassified);
}

void LinkForwardBackward(Trace& trace, const std::vector<std::pair<FlowEnd, FlowEnd>>& arrows) {
  std::int64_t unmatched = 0;
  for (const auto& [start, end] : arrows) {
    const RowId forward = FindOperator(trace.host_ops, start.track, start.time_ns);
    const RowId backward = FindOperator(trace.host_ops, end.track, end.time_ns);
    if (forward == kNoRow || backward == kNoRow) {
      ++unmatched;
      continue;
    }
    trace.host_ops.forward_op[backward] = forward;
  }
  trace.problems.Note("forward-backward flow without its operators", unmatched);
}

bool ClassifyXlaSlices(Trace& trace) {
  std::vector<XlaPlace> places;
  bool has_device = false;
  for (RowId track = 0; track < trace.tracks.size(); ++track) {
    places.push_back(PlaceOf(trace, track));
    has_device |= places.back() != XlaPlace::kNone && places.back() != XlaPlace::kHost;
  }
  if (!has_device) {
    return false;
  }
  for (RowId track = 0; track < trace.tracks.size(); ++track) {
    if (const auto device = DeviceInXlaName(trace.Text(trace.tracks.process_name[track]))) {
      trace.tracks.kind[track] = trace::TrackKind::kDevice;
      trace.tracks.device[track] = *device;
    }
  }
  const trace::OtherSlices slices = std::exchange(trace.other_slices, {});
  for (RowId row = 0; row < slices.size(); ++row) {
    const trace::OtherSlices::Row slice = slices.At(row);
    PlaceXlaSlice(trace, slice, slice.track == kNoRow ? XlaPlace::kNone : places[slice.track]);
  }
  return true;
}

}  // namespace orrery::ingest::kineto
