#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "orrery/trace/trace_set.h"

/// Small runs for the tests of matching and alignment.
namespace orrery::trace::test_runs {

/// A collective as the tests write it; times in µs.
struct Call {
  std::int64_t begin = 0;
  std::int64_t duration = 10;
  CollectiveKind kind = CollectiveKind::kAllReduce;
  RowId group = kNoRow;
  std::int64_t bytes = -1;
  std::int64_t sequence = -1;
  std::uint64_t comms_id = 0;
  std::int32_t peer = -1;
  RowId track = kNoRow;
  std::int32_t num_kernels = 1;
  DataType type = DataType::kFp32;
};

/// A group of ranks as the tests write it.
struct Group {
  std::string name = {};
  std::string ranks = {};
  std::string description = {};
  std::int32_t size = -1;
  bool cut = false;
  std::int32_t start = -1;
  std::int32_t stride = -1;
  std::uint64_t communicator = 0;
};

inline RowId AddGroup(Trace& trace, const Group& group) {
  return trace.process_groups.Append({.name = trace.strings.Intern(group.name),
                                      .description = trace.strings.Intern(group.description),
                                      .num_ranks = group.size,
                                      .ranks = trace.strings.Intern(group.ranks),
                                      .ranks_cut = static_cast<std::uint8_t>(group.cut ? 1 : 0),
                                      .rank_start = group.start,
                                      .rank_stride = group.stride,
                                      .communicator = group.communicator});
}

inline void AddCall(Trace& trace, const Call& call) {
  trace.collectives.Append({.begin_ns = call.begin * 1000,
                            .duration_ns = call.duration * 1000,
                            .kind = call.kind,
                            .group = call.group,
                            .data_type = call.type,
                            .in_bytes = call.bytes,
                            .out_bytes = call.bytes,
                            .sequence = call.sequence,
                            .comms_id = call.comms_id,
                            .peer = call.peer,
                            .track = call.track,
                            .num_kernels = call.num_kernels});
}

/// Ranks 0, 1, … each with the groups (rows 0, 1, …) and its calls.
inline TraceSet MakeRun(const std::vector<Group>& groups,
                        const std::vector<std::vector<Call>>& calls) {
  TraceSet set;
  for (std::size_t rank = 0; rank < calls.size(); ++rank) {
    Trace& trace = set.ranks.emplace_back();
    trace.info.rank = static_cast<std::int32_t>(rank);
    for (const Group& group : groups) {
      AddGroup(trace, group);
    }
    for (const Call& call : calls[rank]) {
      AddCall(trace, call);
    }
  }
  return set;
}

/// An integer from 0 to `most`, from raw engine output: distributions differ between libraries.
inline std::int64_t Draw(std::mt19937& engine, std::int64_t most) {
  return most <= 0 ? 0 : static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(most + 1));
}

struct RunShape {
  std::vector<std::int64_t> offset_ns = {};  // of each rank's clock
  std::int64_t num_records = 50;
  std::int64_t noise_ns = 0;  // ends of a record differ by up to twice this
  std::int64_t interval_ns = 1'000'000;
  std::vector<Group> groups = {};                        // none: no group information
  std::vector<std::vector<std::uint32_t>> members = {};  // of each group; none: all ranks
  std::uint32_t seed = 1;
};

/// Ranks that meet in all-reduces of 100 µs and arrive up to 100 µs early, each rank's times moved
/// by its offset. The groups take turns.
inline TraceSet MakeMeetings(const RunShape& shape) {
  std::mt19937 engine(shape.seed);
  TraceSet set;
  for (std::size_t rank = 0; rank < shape.offset_ns.size(); ++rank) {
    Trace& trace = set.ranks.emplace_back();
    trace.info.rank = static_cast<std::int32_t>(rank);
    trace.info.time_origin = TimeOrigin::kEpoch;
    for (const Group& group : shape.groups) {
      AddGroup(trace, group);
    }
  }
  std::int64_t end_ns = 1'700'000'000'000'000'000;
  for (std::int64_t record = 0; record < shape.num_records; ++record) {
    end_ns += shape.interval_ns + Draw(engine, shape.interval_ns);
    const std::size_t num_groups = std::max<std::size_t>(1, shape.members.size());
    const std::size_t group = static_cast<std::size_t>(record) % num_groups;
    for (std::uint32_t rank = 0; rank < shape.offset_ns.size(); ++rank) {
      if (!shape.members.empty() && std::ranges::count(shape.members[group], rank) == 0) {
        continue;
      }
      const std::int64_t noise_ns = Draw(engine, 2 * shape.noise_ns) - shape.noise_ns;
      const std::int64_t duration_ns = 100'000 + Draw(engine, 100'000);
      set.ranks[rank].collectives.Append(
          {.begin_ns = end_ns + noise_ns - duration_ns + shape.offset_ns[rank],
           .duration_ns = duration_ns,
           .kind = CollectiveKind::kAllReduce,
           .group = shape.groups.empty() ? kNoRow : static_cast<RowId>(group),
           .data_type = DataType::kBf16,
           .in_bytes = 1024,
           .out_bytes = 1024,
           .num_kernels = 1});
    }
  }
  return set;
}

}  // namespace orrery::trace::test_runs
