#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "orrery/memory/timeline/history.h"
#include "orrery/trace/trace.h"

namespace orrery::memory::timeline {

/// The horizontal axis of a timeline.
enum class Axis : std::uint8_t { kTime, kEvent, kOperator };

/// Bytes in use after a change, by layer.
struct Point {
  std::int64_t time_ns = 0;
  std::int64_t operator_number = -1;  // of the last outermost operator that began; -1: none yet
  std::array<std::int64_t, kNumLayers> bytes = {};

  [[nodiscard]] std::int64_t Of(Layer layer) const {
    return bytes[static_cast<std::size_t>(layer)];
  }
};

struct NamedBytes {
  std::string name;
  std::int64_t bytes = 0;
  std::int64_t num_lives = 0;

  bool operator==(const NamedBytes&) const = default;
};

/// A piece of memory that is in use at the peak.
struct Owner {
  std::uint32_t life = kNoLife;
  std::string site;
  std::string region;
  std::string frame;
  std::string category;
};

/// The first moment at which the main layer holds most.
struct Peak {
  std::size_t point = 0;
  std::int64_t time_ns = 0;
  std::int64_t bytes = 0;
  std::int64_t requested_bytes = -1;     // of them, what the program asked for; -1: not known
  std::int64_t bytes_without_owner = 0;  // of totals and names only
  std::vector<Owner> owners;             // the largest first; ties in order of birth
  std::vector<NamedBytes> by_site;       // add up to the peak, as the categories do
  std::vector<NamedBytes> by_category;
};

/// The division of a picture's columns.
enum class StackBy : std::uint8_t { kCategory, kOperator };

/// The bytes of categories, or of outermost operators, at chosen points; a column for each point.
struct StackedColumns {
  std::vector<std::string> names;  // in order of their largest size
  std::vector<std::size_t> points;
  std::vector<std::vector<std::int64_t>> bytes;  // [column][name]
};

/// Memory of one place of one rank over the recording.
struct Timeline {
  std::int32_t rank = 0;
  Place place;
  Layer main_layer = Layer::kAllocated;
  std::array<bool, kNumLayers> has_layer = {};
  std::vector<Point> points;  // one for each change
  std::int64_t num_allocations = 0;
  std::int64_t num_frees = 0;
  Peak peak;
  StackedColumns columns;

  [[nodiscard]] bool Has(Layer layer) const { return has_layer[static_cast<std::size_t>(layer)]; }

  [[nodiscard]] std::int64_t HighestOf(Layer layer) const;

  /// Returns the position of a point on an axis, from 0.
  [[nodiscard]] std::int64_t Position(std::size_t point, Axis axis) const;
};

struct TimelineOptions {
  std::int32_t rank = 0;
  Axis axis = Axis::kTime;  // divided evenly by the columns
  StackBy stack = StackBy::kCategory;
  std::size_t num_columns = 240;
};

/// The timelines of all places of a rank, devices first.
[[nodiscard]] std::vector<Timeline> TimelinesOf(const trace::Trace& trace,
                                                const MemoryHistory& history,
                                                const TimelineOptions& options = {});

}  // namespace orrery::memory::timeline
