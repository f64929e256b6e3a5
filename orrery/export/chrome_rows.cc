#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/columns.h"
#include "orrery/base/document/json_text.h"
#include "orrery/export/chrome_events.h"
#include "orrery/export/collective_spans.h"
#include "orrery/export/rank_layout.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::exporting {
namespace {

using trace::Trace;
using trace::TrackKind;

// As in Kineto: devices after all hosts, rows that are not a process last.
constexpr std::int64_t kDeviceSortIndex = 0x1000000;
constexpr std::int64_t kOtherSortIndex = 0x20000000;

// Text ids of a file have negative numbers, and the text is kept as the name.
std::string NumberOrText(std::int64_t number, std::string_view text) {
  return number < 0 && !text.empty() ? QuoteJson(text) : fmt::format("{}", number);
}

// Finds or adds rows while a ChromeRows is built.
class RowBuilder {
 public:
  // Returns the process with this pid, adding it first where it is new.
  std::size_t Process(ChromeProcess process) {
    const auto [found, is_new] = process_of_pid_.try_emplace(process.pid, rows_.processes.size());
    if (is_new) {
      rows_.processes.push_back(std::move(process));
      used_tids_.emplace_back();
    }
    return found->second;
  }

  // Reserves the number for a track's own thread, so that lanes do not take it.
  void Claim(std::size_t process, std::int64_t tid) { used_tids_[process].insert(tid); }

  // Claims a number that is valid and still free, else a fresh one.
  std::int64_t ClaimOrFresh(std::size_t process, std::int64_t preferred) {
    const bool is_free = preferred >= 0 && used_tids_[process].insert(preferred).second;
    return is_free ? preferred : FreshTid(process);
  }

  // Returns a number above all that are in use.
  std::int64_t FreshTid(std::size_t process) {
    std::set<std::int64_t>& used = used_tids_[process];
    const std::int64_t tid = used.empty() ? 1 : std::max<std::int64_t>(*used.rbegin(), 0) + 1;
    used.insert(tid);
    return tid;
  }

  // Adds the rows of a track: its own thread and one for each further lane.
  void AddTrack(const ChromeThread& first, Lane num_lanes) {
    rows_.first_thread_of_track.push_back(rows_.threads.size());
    AddThread(first);
    for (Lane lane = 1; lane < num_lanes; ++lane) {
      ChromeThread thread = first;
      thread.tid = fmt::format("{}", FreshTid(first.process));
      thread.name = LaneTitle(first.name, lane);
      AddThread(std::move(thread));
    }
  }

  ChromeRows Take() { return std::move(rows_); }

 private:
  void AddThread(ChromeThread thread) {
    thread.place =
        fmt::format("\"pid\":{},\"tid\":{}", rows_.processes[thread.process].pid, thread.tid);
    rows_.threads.push_back(std::move(thread));
  }

  ChromeRows rows_;
  std::map<std::string, std::size_t> process_of_pid_;
  std::vector<std::set<std::int64_t>> used_tids_;
};

ChromeProcess KinetoProcess(const Trace& trace, RowId track) {
  const std::string_view name = trace.Text(trace.tracks.process_name[track]);
  const std::int64_t number = trace.tracks.process[track];
  ChromeProcess process{.pid = NumberOrText(number, name),
                        .name = std::string(name),
                        .labels = {},
                        .sort_index = kOtherSortIndex};
  if (trace.tracks.kind[track] == TrackKind::kHost && number >= 0) {
    process.labels = "CPU";
    process.sort_index = number;
  }
  if (trace.tracks.kind[track] == TrackKind::kDevice) {
    process.labels = fmt::format("GPU {}", trace.tracks.device[track]);
    process.sort_index = kDeviceSortIndex + trace.tracks.device[track];
  }
  return process;
}

ChromeThread KinetoThread(const Trace& trace, RowId track, std::size_t process) {
  const std::int64_t number = trace.tracks.thread[track];
  const std::string_view name = trace.Text(trace.tracks.name[track]);
  return {.process = process,
          .tid = NumberOrText(number, name),
          // A number below zero is synthetic: without a name there is no title.
          .name = number < 0 && name.empty() ? std::string() : TrackTitle(trace, track),
          .sort_index = std::max<std::int64_t>(number, 0),
          .place = {}};
}

std::set<std::int32_t> DevicesWithTracks(const Trace& trace) {
  std::set<std::int32_t> devices;
  for (RowId track = 0; track < trace.tracks.size(); ++track) {
    if (trace.tracks.kind[track] == TrackKind::kDevice) {
      devices.insert(trace.tracks.device[track]);
    }
  }
  return devices;
}

// Adds the process of the host and those of the devices; returns the latter by device.
std::map<std::int32_t, std::size_t> AddRankProcesses(const Trace& trace, std::int64_t rank,
                                                     std::int64_t first_pid, RowBuilder& builder) {
  builder.Process({.pid = fmt::format("{}", first_pid),
                   .name = fmt::format("rank {}", rank),
                   .labels = {},
                   .sort_index = 10 * rank});
  std::map<std::int32_t, std::size_t> process_of_device;
  for (const std::int32_t device : DevicesWithTracks(trace)) {
    ++first_pid;
    process_of_device[device] =
        builder.Process({.pid = fmt::format("{}", first_pid),
                         .name = fmt::format("rank {} · GPU {}", rank, device),
                         .labels = {},
                         .sort_index = 10 * rank + 1});
  }
  return process_of_device;
}

}  // namespace

ChromeRows KinetoRows(const Trace& trace, const RankLayout& layout) {
  RowBuilder builder;
  const DrawnTracks tracks(trace);
  // All own numbers first: a lane must not take that of a later track.
  for (RowId track = 0; track < trace.tracks.size(); ++track) {
    builder.Claim(builder.Process(KinetoProcess(trace, track)), trace.tracks.thread[track]);
  }
  for (RowId track = 0; track < tracks.count; ++track) {
    ChromeThread thread;
    if (track < tracks.none) {
      thread = KinetoThread(trace, track, builder.Process(KinetoProcess(trace, track)));
    } else {
      thread.process = builder.Process({"\"orrery\"", "orrery", "", kOtherSortIndex});
      thread.name = TrackTitle(trace, track);
      thread.tid = QuoteJson(thread.name);
    }
    thread.is_used = layout.IsUsed(track);
    builder.AddTrack(thread, layout.num_lanes[track]);
  }
  return builder.Take();
}

ChromeRows RankRows(const Trace& trace, const RankLayout& layout, std::int64_t rank,
                    std::int64_t first_pid) {
  RowBuilder builder;
  const DrawnTracks tracks(trace);
  const auto process_of_device = AddRankProcesses(trace, rank, first_pid, builder);
  const auto process_of = [&](RowId track) -> std::size_t {
    const bool on_device = track < tracks.none && trace.tracks.kind[track] == TrackKind::kDevice;
    return on_device ? process_of_device.at(trace.tracks.device[track]) : 0;
  };
  std::vector<std::int64_t> tids;
  for (RowId track = 0; track < tracks.count; ++track) {
    const std::int64_t preferred = track < tracks.none ? trace.tracks.thread[track] : -1;
    tids.push_back(builder.ClaimOrFresh(process_of(track), preferred));
  }
  for (RowId track = 0; track < tracks.count; ++track) {
    const ChromeThread thread{.process = process_of(track),
                              .tid = fmt::format("{}", tids[track]),
                              .name = TrackTitle(trace, track),
                              .sort_index = tids[track],
                              .is_used = layout.IsUsed(track),
                              .place = {}};
    builder.AddTrack(thread, layout.num_lanes[track]);
  }
  return builder.Take();
}

}  // namespace orrery::exporting
