#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include <protozero/pbf_writer.hpp>
#include <protozero/types.hpp>
#include <tsl/robin_map.h>

#include "orrery/base/error.h"
#include "orrery/base/file/byte_sink.h"
#include "orrery/export/rank_layout.h"
#include "orrery/trace/trace.h"

/// Numbers of the fields of Perfetto's messages that we write, and values of their enumerations.

namespace orrery::exporting::perfetto {

using Field = protozero::pbf_tag_type;

inline constexpr Field kTracePacket = 1;

namespace packet {
inline constexpr Field kClockSnapshot = 6;
inline constexpr Field kTimestamp = 8;
inline constexpr Field kSequenceId = 10;
inline constexpr Field kTrackEvent = 11;
inline constexpr Field kInternedData = 12;
inline constexpr Field kSequenceFlags = 13;
inline constexpr Field kTrackDescriptor = 60;

inline constexpr std::uint32_t kStateCleared = 1;
inline constexpr std::uint32_t kNeedsState = 2;
}  // namespace packet

namespace snapshot {
inline constexpr Field kClocks = 1;
inline constexpr Field kClockId = 1;
inline constexpr Field kClockTimestamp = 2;

inline constexpr std::uint32_t kRealtime = 1;
inline constexpr std::uint32_t kBoottime = 6;  // of time stamps unless they name another
}  // namespace snapshot

namespace interned {
inline constexpr Field kCategories = 1;
inline constexpr Field kNames = 2;
inline constexpr Field kAnnotationNames = 3;
inline constexpr Field kAnnotationStrings = 29;

inline constexpr Field kEntryId = 1;
inline constexpr Field kEntryText = 2;
}  // namespace interned

namespace track {
inline constexpr Field kUuid = 1;
inline constexpr Field kName = 2;
inline constexpr Field kParentUuid = 5;
inline constexpr Field kCounter = 8;
inline constexpr Field kChildOrdering = 11;
inline constexpr Field kSiblingOrderRank = 12;
inline constexpr Field kSiblingMergeBehavior = 15;

inline constexpr std::int32_t kExplicitOrder = 3;
inline constexpr std::int32_t kNoMerge = 2;

inline constexpr Field kCounterUnit = 3;
inline constexpr std::int32_t kUnitSizeBytes = 3;
}  // namespace track

namespace event {
inline constexpr Field kCategoryIds = 3;
inline constexpr Field kDebugAnnotations = 4;
inline constexpr Field kType = 9;
inline constexpr Field kNameId = 10;
inline constexpr Field kTrackUuid = 11;
inline constexpr Field kCounterValue = 30;
inline constexpr Field kDoubleCounterValue = 44;
inline constexpr Field kFlowIds = 47;
inline constexpr Field kTerminatingFlowIds = 48;

inline constexpr std::int32_t kSliceBegin = 1;
inline constexpr std::int32_t kSliceEnd = 2;
inline constexpr std::int32_t kInstant = 3;
inline constexpr std::int32_t kCounter = 4;
}  // namespace event

namespace annotation {
inline constexpr Field kNameId = 1;
inline constexpr Field kBool = 2;
inline constexpr Field kUnsigned = 3;
inline constexpr Field kInteger = 4;
inline constexpr Field kDouble = 5;
inline constexpr Field kString = 6;
inline constexpr Field kStringId = 17;
}  // namespace annotation

/// The file while it is written: packets collect in a buffer that goes to the sink when it is
/// large. A failed write is remembered and returned by `Flush`.
class PacketFile {
 public:
  explicit PacketFile(ByteSink& sink) : sink_(sink) {}

  /// Adds one encoded TracePacket.
  void Add(const std::string& packet);

  [[nodiscard]] Status Flush();

 private:
  ByteSink& sink_;
  std::string buffer_;
  Status status_;
};

/// A track in the tree.
struct TrackDescription {
  std::uint64_t uuid = 0;
  std::uint64_t parent = 0;  // 0: none
  std::string name;
  std::int32_t order = 0;  // among its siblings, from 1; 0: any
  bool is_counter = false;
  bool counts_bytes = false;
};

/// Text that a sequence gives a number on first use. Ids count from 1.
class Interning {
 public:
  explicit Interning(protozero::pbf_tag_type field) : field_(field) {}

  /// Returns the number of a literal or other text that outlives the sequence; `new_entries` gets
  /// the definition when it is new.
  std::uint64_t Id(std::string_view text, std::string& new_entries);

  /// The same for a string of a table, without hashing.
  std::uint64_t Id(const StringTable& strings, StringId id, std::string& new_entries);

 private:
  std::uint64_t Define(std::string_view text, std::string& new_entries);

  protozero::pbf_tag_type field_;
  std::uint64_t next_ = 1;
  tsl::robin_map<std::string_view, std::uint64_t> id_of_text_;
  std::vector<std::uint64_t> id_of_string_;
};

/// Writes the events of one packet sequence. Packets of a sequence must come in order of time, and
/// share their table of names. `strings` is the table that StringIds belong to.
class Sequence {
 public:
  Sequence(PacketFile& file, std::uint32_t id, const StringTable& strings)
      : file_(file), id_(id), strings_(strings) {}

  void Describe(const TrackDescription& track);

  /// Starts an event; the calls up to `Write` fill it.
  void Start(std::int32_t type, std::uint64_t track);

  void Name(StringId name);
  void Name(std::string_view name);
  void Category(std::string_view category);
  void Flows(std::span<const std::uint64_t> ids);

  void TerminatingFlow(std::uint64_t id) {
    protozero::pbf_writer(event_).add_fixed64(event::kTerminatingFlowIds, id);
  }

  void Counter(std::int64_t value) {
    protozero::pbf_writer(event_).add_int64(event::kCounterValue, value);
  }

  void Counter(double value) {
    protozero::pbf_writer(event_).add_double(event::kDoubleCounterValue, value);
  }

  // Arguments; a visitor for event_args.h.
  void Integer(std::string_view key, std::int64_t value) {
    Annotate(key, [&](auto& annotation) { annotation.add_int64(annotation::kInteger, value); });
  }

  void Unsigned(std::string_view key, std::uint64_t value) {
    Annotate(key, [&](auto& annotation) { annotation.add_uint64(annotation::kUnsigned, value); });
  }

  void Flag(std::string_view key, bool value) {
    Annotate(key, [&](auto& annotation) { annotation.add_bool(annotation::kBool, value); });
  }

  void Number(std::string_view key, double value) {
    Annotate(key, [&](auto& annotation) { annotation.add_double(annotation::kDouble, value); });
  }

  void Words(std::string_view key, std::string_view value) {
    Annotate(key, [&](auto& annotation) {
      annotation.add_string(annotation::kString, value.data(), value.size());
    });
  }

  void Text(std::string_view key, StringId value);

  void Json(std::string_view key, StringId value) { Text(key, value); }

  void Triple(std::string_view key, std::int64_t x, std::int64_t y, std::int64_t z);

  // Arguments without a column are for the files that are read again.
  void Fields(StringId) {}

  /// Writes the event that was started.
  void Write(std::uint64_t at_ns);

 private:
  template <typename AddValue>
  void Annotate(std::string_view key, AddValue&& add_value) {
    const std::uint64_t key_id = keys_.Id(key, new_entries_);
    protozero::pbf_writer event(event_);
    protozero::pbf_writer annotation(event, event::kDebugAnnotations);
    annotation.add_uint64(annotation::kNameId, key_id);
    add_value(annotation);
  }

  void AddHeader(protozero::pbf_writer& packet);

  PacketFile& file_;
  std::uint32_t id_;
  const StringTable& strings_;
  bool is_first_ = true;
  Interning names_{interned::kNames};
  Interning categories_{interned::kCategories};
  Interning keys_{interned::kAnnotationNames};
  Interning values_{interned::kAnnotationStrings};
  std::string event_;
  std::string new_entries_;
  std::string packet_;
};

/// Assigns the ids of tracks: a hash of their identity ("rank 3 / device 0"), so that the same
/// trace gives the same ids. Equal identities and hash collisions get different ids.
class TrackUuids {
 public:
  std::uint64_t Of(std::string identity);

 private:
  std::set<std::uint64_t> taken_;
};

/// The tracks of one rank: the rank, below it host threads and devices, below those streams and
/// counters.
class RankTracks {
 public:
  struct Place {
    std::uint64_t parent = 0;  // the track above the rank, or 0
    std::int32_t order = 0;    // among the tracks there
  };

  /// Describes the tree in `sequence`.
  RankTracks(const trace::Trace& trace, const RankLayout& layout, std::int64_t rank, Place place,
             TrackUuids& uuids, Sequence& sequence);

  /// The track of a lane; see DrawnTracks.
  [[nodiscard]] std::uint64_t Lane(RowId drawn_track, exporting::Lane lane = 0) const {
    return lanes_[drawn_track][lane];
  }

  /// The track of a counter, described on first use: below the device, or the rank where `device`
  /// is below zero.
  std::uint64_t Counter(std::string_view name, std::int32_t device, bool counts_bytes);

 private:
  std::uint64_t Describe(const std::string& identity, std::uint64_t parent, std::string name);
  std::uint64_t Device(std::int32_t device);
  void DescribeLanes(RowId drawn_track, std::uint64_t parent);

  const trace::Trace& trace_;
  const RankLayout& layout_;
  std::string rank_name_;
  TrackUuids& uuids_;
  Sequence& sequence_;
  std::uint64_t rank_track_ = 0;
  std::int32_t next_order_ = 1;
  std::vector<std::vector<std::uint64_t>> lanes_;  // by drawn track, then lane
  std::map<std::int32_t, std::uint64_t> devices_;
  std::map<std::pair<std::int32_t, std::string>, std::uint64_t> counters_;
};

/// All that is needed to write one rank.
struct Rank {
  const trace::Trace& trace;
  const RankLayout& layout;
  RankTracks& tracks;
  std::uint64_t index = 0;   // among the ranks of the set
  std::int64_t zero_ns = 0;  // timestamps count from here
};

/// Writes the slices of a rank, with flow arrows between them, in order of time.
void WriteSlices(const Rank& rank, Sequence& sequence);

/// Writes counters, memory events, instant events and the arrows that belong to no slice, in order
/// of time.
void WritePoints(const Rank& rank, Sequence& sequence);

/// Calls `begin(i)` and `end(i)` for each of `count` slices in order of time; `times_of(i)` has
/// begin_ns and end_ns. At equal times, earlier slices end before the next begins, longer ones
/// begin first, and of slices that end together the one that began last ends first; so nested
/// slices are closed inside out, and a slice without length ends right after its begin.
template <typename TimesOf, typename Begin, typename End>
void WalkEdges(std::size_t count, const TimesOf& times_of, Begin&& begin, End&& end) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t lhs, std::size_t rhs) {
    const auto& a = times_of(lhs);
    const auto& b = times_of(rhs);
    return std::tie(a.begin_ns, b.end_ns, lhs) < std::tie(b.begin_ns, a.end_ns, rhs);
  });
  // The position is negated: of equal ends the slice that began last comes first.
  using Open = std::tuple<std::int64_t, std::int64_t, std::size_t>;
  std::priority_queue<Open, std::vector<Open>, std::greater<>> open;
  const auto end_until = [&](std::int64_t until_ns) {
    while (!open.empty() && std::get<0>(open.top()) <= until_ns) {
      end(std::get<2>(open.top()));
      open.pop();
    }
  };
  for (std::size_t position = 0; position < count; ++position) {
    const std::size_t slice = order[position];
    end_until(times_of(slice).begin_ns);
    begin(slice);
    open.emplace(times_of(slice).end_ns, -static_cast<std::int64_t>(position), slice);
  }
  end_until(std::numeric_limits<std::int64_t>::max());
}

}  // namespace orrery::exporting::perfetto
