#include "orrery/ingest/nsys/rank_set.h"

#include <algorithm>

#include <fmt/core.h>

#include "orrery/base/parse_number.h"
#include "orrery/ingest/json_text.h"

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
  const auto [entry, is_new] = names_.try_emplace(string_id, StringId::kEmpty);
  if (is_new) {
    entry.value() = Intern(context_.String(string_id));
  }
  return entry->second;
}

RowId RankBuilder::HostTrack(std::int64_t global_tid) {
  const auto [entry, is_new] = host_tracks_.try_emplace(global_tid, kNoRow);
  if (is_new) {
    const ProcessKey process = ProcessOf(global_tid);
    entry.value() = trace.tracks.Append({.kind = trace::TrackKind::kHost,
                                         .process = ProcessNumber(process),
                                         .thread = ThreadNumber(global_tid),
                                         .process_name = Intern(context_.ProcessName(process)),
                                         .name = Intern(context_.ThreadName(global_tid))});
  }
  return entry->second;
}

RowId RankBuilder::StreamTrack(std::int64_t stream) {
  const auto [entry, is_new] = stream_tracks_.try_emplace(stream, kNoRow);
  if (is_new) {
    entry.value() = trace.tracks.Append(
        {.kind = trace::TrackKind::kDevice,
         .process = ProcessNumber(process_),
         .thread = stream,
         .device = device_,
         .process_name = Intern(context_.ProcessName(process_)),
         .name = Intern(stream < 0 ? std::string("waits") : fmt::format("stream {}", stream))});
  }
  return entry->second;
}

RowId RankBuilder::Shape(const LaunchKey& key) {
  const auto [entry, is_new] = shapes_.try_emplace(key, kNoRow);
  if (is_new) {
    JsonFields extra;
    for (std::size_t i = kStaticShared; i < key.size(); ++i) {
      if (key[i] >= 0) {
        extra.Add(kLaunchColumns[i], key[i]);
      }
    }
    entry.value() =
        trace.launch_shapes.Append({.grid_x = SmallOrUnknown(key[0]),
                                    .grid_y = SmallOrUnknown(key[1]),
                                    .grid_z = SmallOrUnknown(key[2]),
                                    .block_x = SmallOrUnknown(key[3]),
                                    .block_y = SmallOrUnknown(key[4]),
                                    .block_z = SmallOrUnknown(key[5]),
                                    .registers_per_thread = SmallOrUnknown(key[kRegisters]),
                                    .shared_memory_bytes = TotalSharedMemory(key),
                                    .extra = Intern(extra.text())});
  }
  return entry->second;
}

StringId RankBuilder::ActivityExtra(std::int64_t context, std::int64_t graph) {
  const auto [entry, is_new] =
      activity_extras_.try_emplace(std::pair(context, graph), StringId::kEmpty);
  if (is_new) {
    JsonFields extra;
    if (context >= 0) {
      extra.Add("context", context);
    }
    if (graph >= 0) {
      extra.Add("graph id", graph);
    }
    entry->second = Intern(extra.text());
  }
  return entry->second;
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
  if (latest_ != nullptr && latest_->process() == process && latest_->device() == device) {
    return *latest_;
  }
  auto found = by_device_.find({process, device});
  if (found == by_device_.end() && ranks_.size() >= kMaxRanks) {
    context_.problems.Note(
        "device row beyond 1,024 pairs of process and device; assigned to the first");
    return *ranks_.front();
  }
  if (found == by_device_.end()) {
    ranks_.push_back(std::make_unique<RankBuilder>(context_, process, device));
    found = by_device_.emplace(std::pair(process, device), ranks_.back().get()).first;
  }
  latest_ = found->second;
  return *latest_;
}

void RankSet::NoteContext(RankBuilder& rank, std::int64_t context) {
  const std::pair key(rank.process(), context);
  if (context >= 0 && key != latest_context_) {
    by_context_.try_emplace(key, &rank);
    latest_context_ = key;
  }
}

void RankSet::Seal() {
  if (ranks_.empty()) {
    ForDevice(kUnknownProcess, -1);
  }
  std::sort(ranks_.begin(), ranks_.end(), [](const auto& lhs, const auto& rhs) {
    return std::pair(lhs->process(), lhs->device()) < std::pair(rhs->process(), rhs->device());
  });
  for (const auto& rank : ranks_) {
    groups_[rank->process()].ranks.push_back(rank.get());
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
  Group& group = groups_[rank.process()];
  if (group.ranks.size() > 1 && correlation >= 0) {
    group.by_correlation.try_emplace(correlation, &rank);
  }
}

RankSet::Group* RankSet::FindGroup(ProcessKey process) {
  auto found = groups_.find(process);
  if (found == groups_.end()) {
    found = groups_.find(kUnknownProcess);
  }
  return found == groups_.end() ? nullptr : &found->second;
}

RankSet::Home RankSet::ForCall(ProcessKey process, std::int64_t correlation) {
  Group* group = FindGroup(process);
  if (group == nullptr) {
    return {.rank = &first(), .is_own = false};
  }
  if (correlation >= 0) {
    const auto found = group->by_correlation.find(correlation);
    if (found != group->by_correlation.end()) {
      return {.rank = found->second, .is_own = true, .found_by_work = true};
    }
  }
  return {.rank = group->ranks.front(), .is_own = true};
}

RankBuilder& RankSet::ForContext(ProcessKey process, std::int64_t context,
                                 std::int64_t correlation) {
  const auto found = by_context_.find({process, context});
  return found != by_context_.end() ? *found->second : *ForCall(process, correlation).rank;
}

RankBuilder& RankSet::ForRange(std::int64_t global_tid, const Interval& time) {
  const auto launches = launches_on_thread_.find(global_tid);
  if (launches != launches_on_thread_.end()) {
    const auto inside = std::lower_bound(
        launches->second.begin(), launches->second.end(), time.begin_ns,
        [](const Launch& launch, std::int64_t begin_ns) { return launch.begin_ns < begin_ns; });
    if (inside != launches->second.end() && inside->begin_ns < time.end_ns()) {
      return *inside->rank;
    }
  }
  return *ForCall(ProcessOf(global_tid), -1).rank;
}

RankBuilder& RankSet::ForProcessDevice(ProcessKey process, std::int32_t device) {
  const auto found = by_device_.find({process, device});
  return found != by_device_.end() ? *found->second : *ForCall(process, -1).rank;
}

void RankSet::NoteLaunch(std::int64_t global_tid, std::int64_t begin_ns, RankBuilder& rank) {
  launches_on_thread_[global_tid].push_back({.begin_ns = begin_ns, .rank = &rank});
}

void RankSet::SealLaunches() {
  for (auto thread = launches_on_thread_.begin(); thread != launches_on_thread_.end(); ++thread) {
    std::stable_sort(
        thread.value().begin(), thread.value().end(),
        [](const Launch& lhs, const Launch& rhs) { return lhs.begin_ns < rhs.begin_ns; });
  }
}

}  // namespace orrery::ingest::nsys
