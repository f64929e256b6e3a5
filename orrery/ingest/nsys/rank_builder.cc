#include "orrery/ingest/nsys/rank_builder.h"

#include <algorithm>
#include <limits>

#include <fmt/core.h>

#include "orrery/ingest/nsys/json_fields.h"

namespace orrery::ingest::nsys {
namespace {


// Positions in a LaunchKey.
constexpr std::size_t kRegisters = 6;
constexpr std::size_t kStaticShared = 7;
constexpr std::size_t kDynamicShared = 8;

std::int32_t Narrow(std::int64_t value) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  return value < 0 || value > kMax ? -1 : static_cast<std::int32_t>(value);
}

std::int64_t TotalSharedMemory(const LaunchKey& key) {
  if (key[kStaticShared] < 0 && key[kDynamicShared] < 0) {
    return -1;
  }
  return Narrow(std::max<std::int64_t>(key[kStaticShared], 0)) +
         static_cast<std::int64_t>(Narrow(std::max<std::int64_t>(key[kDynamicShared], 0)));
}

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
    entry.value() = trace.launch_shapes.Append({.grid_x = Narrow(key[0]),
                                                .grid_y = Narrow(key[1]),
                                                .grid_z = Narrow(key[2]),
                                                .block_x = Narrow(key[3]),
                                                .block_y = Narrow(key[4]),
                                                .block_z = Narrow(key[5]),
                                                .registers_per_thread = Narrow(key[kRegisters]),
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

}  // namespace orrery::ingest::nsys
