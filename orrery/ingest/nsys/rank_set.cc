#include "orrery/ingest/nsys/rank_set.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "orrery/base/columns.h"
#include "orrery/base/lookup.h"
#include "orrery/base/string_table.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/ingest/json/json_text.h"
#include "orrery/ingest/nsys/export_context.h"
#include "orrery/trace/enums.h"

namespace orrery::ingest::nsys {
namespace {

// Positions in a LaunchKey.
constexpr std::size_t kRegisters = 6;
constexpr std::size_t kStaticShared = 7;
constexpr std::size_t kDynamicShared = 8;

std::int64_t TotalSharedMemory(const LaunchKey& key) {
  if (key[kStaticShared] < 0 && key[kDynamicShared] < 0) {
    return -1;
  }
  return SmallOrUnknown(std::max<std::int64_t>(key[kStaticShared], 0)) +
         static_cast<std::int64_t>(SmallOrUnknown(std::max<std::int64_t>(key[kDynamicShared], 0)));
}

// A machine has a few dozen; thousands mean damage, and each takes the memory of a trace.
constexpr std::size_t kMaxRanks = 1024;

}  // namespace

StringId RankBuilder::Name(std::int64_t string_id) {
  return FindOrAdd(names_, string_id, [&] { return Intern(context_.String(string_id)); });
}

RowId RankBuilder::HostTrack(std::int64_t global_tid) {
  return FindOrAdd(host_tracks_, global_tid, [&] {
    const ProcessKey owner = ProcessOf(global_tid);
    return trace.tracks.Append({.kind = trace::TrackKind::kHost,
                                .process = ProcessNumber(owner),
                                .thread = ThreadNumber(global_tid),
                                .process_name = Intern(context_.ProcessName(owner)),
                                .name = Intern(context_.ThreadName(global_tid))});
  });
}

RowId RankBuilder::StreamTrack(std::int64_t stream) {
  return FindOrAdd(stream_tracks_, stream, [&] {
    return trace.tracks.Append(
        {.kind = trace::TrackKind::kDevice,
         .process = ProcessNumber(process),
         .thread = stream,
         .device = device,
         .process_name = Intern(context_.ProcessName(process)),
         .name = Intern(stream < 0 ? std::string("waits") : fmt::format("stream {}", stream))});
  });
}

RowId RankBuilder::Shape(const LaunchKey& key) {
  return FindOrAdd(shapes_, key, [&] {
    JsonFields extra;
    for (std::size_t i = kStaticShared; i < key.size(); ++i) {
      if (key[i] >= 0) {
        extra.Add(kLaunchColumns[i], key[i]);
      }
    }
    return trace.launch_shapes.Append({.grid_x = SmallOrUnknown(key[0]),
                                       .grid_y = SmallOrUnknown(key[1]),
                                       .grid_z = SmallOrUnknown(key[2]),
                                       .block_x = SmallOrUnknown(key[3]),
                                       .block_y = SmallOrUnknown(key[4]),
                                       .block_z = SmallOrUnknown(key[5]),
                                       .registers_per_thread = SmallOrUnknown(key[kRegisters]),
                                       .shared_memory_bytes = TotalSharedMemory(key),
                                       .extra = Intern(extra.text())});
  });
}

StringId RankBuilder::ActivityExtra(std::int64_t context, std::int64_t graph) {
  return FindOrAdd(activity_extras_, std::pair(context, graph), [&] {
    JsonFields extra;
    if (context >= 0) {
      extra.Add("context", context);
    }
    if (graph >= 0) {
      extra.Add("graph id", graph);
    }
    return Intern(extra.text());
  });
}

void RankBuilder::RenameThread(std::int64_t global_tid, std::string_view name) {
  trace.tracks.name[HostTrack(global_tid)] = Intern(name);
}

std::size_t RankBuilder::HashLaunchKey::operator()(const LaunchKey& key) const {
  std::uint64_t hash = 0;
  for (const std::int64_t part : key) {
    hash = (hash ^ static_cast<std::uint64_t>(part)) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 32;
  }
  return hash;
}

RankBuilder& RankSet::ForDevice(ProcessKey process, std::int32_t device) {
  if (latest_ != nullptr && latest_->process == process && latest_->device == device) {
    return *latest_;
  }
  RankBuilder*& rank = by_device_[{process, device}];
  if (rank == nullptr && ranks_.size() >= kMaxRanks) {
    by_device_.erase({process, device});
    context_.problems.Note(
        "device row beyond 1,024 pairs of process and device; assigned to the first");
    return *ranks_.front();
  }
  if (rank == nullptr) {
    ranks_.push_back(std::make_unique<RankBuilder>(context_, process, device));
    rank = ranks_.back().get();
  }
  latest_ = rank;
  return *latest_;
}

void RankSet::NoteContext(RankBuilder& rank, std::int64_t context) {
  const std::pair key(rank.process, context);
  if (context >= 0 && key != latest_context_) {
    by_context_.try_emplace(key, &rank);
    latest_context_ = key;
  }
}

void RankSet::Seal() {
  if (ranks_.empty()) {
    ForDevice(kUnknownProcess, -1);
  }
  std::ranges::sort(ranks_, {},
                    [](const auto& rank) { return std::pair(rank->process, rank->device); });
  for (const auto& rank : ranks_) {
    groups_[rank->process].ranks.push_back(rank.get());
  }
  for (auto& [process, group] : groups_) {
    if (group.ranks.size() < 2) {
      continue;
    }
    for (RankBuilder* rank : group.ranks) {
      for (const std::int64_t correlation : rank->trace.activities.correlation) {
        group.by_correlation.try_emplace(correlation, rank);
      }
    }
  }
}

void RankSet::NoteCorrelation(RankBuilder& rank, std::int64_t correlation) {
  Group& group = groups_[rank.process];
  if (group.ranks.size() > 1 && correlation >= 0) {
    group.by_correlation.try_emplace(correlation, &rank);
  }
}

RankSet::Home RankSet::ForCall(ProcessKey process, std::int64_t correlation) {
  auto group = groups_.find(process);
  group = group == groups_.end() ? groups_.find(kUnknownProcess) : group;
  if (group == groups_.end()) {
    return {.rank = &first(), .is_own = false};
  }
  RankBuilder* const found =
      correlation < 0 ? nullptr : FindOr(group->second.by_correlation, correlation);
  return {.rank = found != nullptr ? found : group->second.ranks.front(),
          .is_own = true,
          .found_by_work = found != nullptr};
}

RankBuilder& RankSet::ForContext(ProcessKey process, std::int64_t context,
                                 std::int64_t correlation) {
  RankBuilder* const known = FindOr(by_context_, std::pair(process, context));
  return known != nullptr ? *known : *ForCall(process, correlation).rank;
}

RankBuilder& RankSet::ForRange(std::int64_t global_tid, const Interval& time) {
  const auto launches = launches_on_thread_.find(global_tid);
  if (launches != launches_on_thread_.end()) {
    const auto inside =
        std::ranges::lower_bound(launches->second, time.begin_ns, {}, &Launch::begin_ns);
    if (inside != launches->second.end() && inside->begin_ns < time.end_ns()) {
      return *inside->rank;
    }
  }
  return *ForCall(ProcessOf(global_tid), -1).rank;
}

RankBuilder& RankSet::ForProcessDevice(ProcessKey process, std::int32_t device) {
  RankBuilder* const known = FindOr(by_device_, std::pair(process, device));
  return known != nullptr ? *known : *ForCall(process, -1).rank;
}

void RankSet::NoteLaunch(std::int64_t global_tid, std::int64_t begin_ns, RankBuilder& rank) {
  launches_on_thread_[global_tid].push_back({.begin_ns = begin_ns, .rank = &rank});
}

void RankSet::SealLaunches() {
  for (auto thread = launches_on_thread_.begin(); thread != launches_on_thread_.end(); ++thread) {
    std::ranges::stable_sort(thread.value(), {}, &Launch::begin_ns);
  }
}

}  // namespace orrery::ingest::nsys
