#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <protozero/pbf_writer.hpp>

namespace orrery::ingest::xplane {

// Recordings for tests, written with another library than the one that reads them.

inline std::string StatOf(std::int64_t name, auto add_value) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_int64(1, name);
  add_value(writer);
  return bytes;
}

inline std::string NumberStat(std::int64_t name, double value) {
  return StatOf(name, [&](auto& writer) { writer.add_double(2, value); });
}

inline std::string UnsignedStat(std::int64_t name, std::uint64_t value) {
  return StatOf(name, [&](auto& writer) { writer.add_uint64(3, value); });
}

inline std::string IntegerStat(std::int64_t name, std::int64_t value) {
  return StatOf(name, [&](auto& writer) { writer.add_int64(4, value); });
}

inline std::string TextStat(std::int64_t name, const std::string& text) {
  return StatOf(name, [&](auto& writer) { writer.add_string(5, text); });
}

inline std::string BytesStat(std::int64_t name, const std::string& value) {
  return StatOf(name, [&](auto& writer) { writer.add_bytes(6, value); });
}

inline std::string ReferenceStat(std::int64_t name, std::uint64_t text) {
  return StatOf(name, [&](auto& writer) { writer.add_uint64(7, text); });
}

struct TestEvent {
  std::int64_t kind = 0;
  std::int64_t offset_ps = 0;
  std::int64_t duration_ps = 0;
  std::vector<std::string> stats = {};
};

struct TestLine {
  std::int64_t id = 0;
  std::string name;
  std::vector<TestEvent> events;
  std::int64_t timestamp_ns = 0;
};

struct TestKind {
  std::int64_t id = 0;
  std::string name;
  std::string display_name = {};
  std::vector<std::string> stats = {};
};

struct TestPlane {
  std::string name;
  std::vector<TestLine> lines = {};
  std::vector<TestKind> kinds = {};
  std::vector<std::pair<std::int64_t, std::string>> stat_names = {};
  std::vector<std::string> stats = {};
};

inline std::string MessageOf(const TestEvent& event) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_int64(1, event.kind);
  writer.add_int64(2, event.offset_ps);
  writer.add_int64(3, event.duration_ps);
  for (const std::string& stat : event.stats) {
    writer.add_message(4, stat);
  }
  return bytes;
}

inline std::string MessageOf(const TestLine& line) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_int64(1, line.id);
  writer.add_string(2, line.name);
  writer.add_int64(3, line.timestamp_ns);
  for (const TestEvent& event : line.events) {
    writer.add_message(4, MessageOf(event));
  }
  return bytes;
}

inline std::string MessageOf(const TestKind& kind) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_int64(1, kind.id);
  writer.add_string(2, kind.name);
  writer.add_string(4, kind.display_name);
  for (const std::string& stat : kind.stats) {
    writer.add_message(5, stat);
  }
  return bytes;
}

inline std::string MapEntryOf(std::int64_t key, const std::string& value) {
  return StatOf(key, [&](auto& writer) { writer.add_message(2, value); });
}

inline std::string StatNameOf(std::int64_t id, const std::string& name) {
  return StatOf(id, [&](auto& writer) { writer.add_string(2, name); });
}

inline std::string MessageOf(const TestPlane& plane) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_string(2, plane.name);
  for (const TestLine& line : plane.lines) {
    writer.add_message(3, MessageOf(line));
  }
  for (const TestKind& kind : plane.kinds) {
    writer.add_message(4, MapEntryOf(kind.id, MessageOf(kind)));
  }
  for (const auto& [id, name] : plane.stat_names) {
    writer.add_message(5, MapEntryOf(id, StatNameOf(id, name)));
  }
  for (const std::string& stat : plane.stats) {
    writer.add_message(6, stat);
  }
  return bytes;
}

inline std::string SpaceOf(const std::vector<TestPlane>& planes) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  for (const TestPlane& plane : planes) {
    writer.add_message(1, MessageOf(plane));
  }
  return bytes;
}

/// A TPU with one core: two operations, the second one a collective of 4 x 8 floats.
inline TestPlane SmallTpu() {
  return {.name = "/device:TPU:2",
          .lines = {{.id = 3,
                     .name = "XLA Ops",
                     .events = {{.kind = 1, .offset_ps = 5'000, .duration_ps = 2'000},
                                {.kind = 2, .offset_ps = 7'000, .duration_ps = 10'000}}}},
          .kinds = {{.id = 1,
                     .name = "%fusion.1 = f32[4,8] fusion(f32[4,8] %p)",
                     .display_name = "fusion.1",
                     .stats = {TextStat(1, "loop fusion"), IntegerStat(2, 256)}},
                    {.id = 2,
                     .name = "%all-reduce = f32[4,8] all-reduce(f32[4,8] %fusion.1)",
                     .display_name = "all-reduce",
                     .stats = {TextStat(1, "all-reduce"), TextStat(3, "f32[4,8]{1,0:T(8,128)}")}}},
          .stat_names = {{1, "hlo_category"}, {2, "flops"}, {3, "shape_with_layout"}},
          .stats = {}};
}

}  // namespace orrery::ingest::xplane
