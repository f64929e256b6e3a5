#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <protozero/pbf_writer.hpp>
#include <tsl/robin_map.h>

#include "orrery/base/byte_sink.h"
#include "orrery/base/error.h"
#include "orrery/base/string_table.h"
#include "orrery/export/perfetto_fields.h"
#include "orrery/export/rank_layout.h"
#include "orrery/trace/trace.h"

namespace orrery::exporting::perfetto {

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
  void TerminatingFlow(std::uint64_t id);
  void Counter(std::int64_t value);
  void Counter(double value);

  // Arguments; a visitor for event_args.h.
  void Integer(std::string_view key, std::int64_t value);
  void Unsigned(std::string_view key, std::uint64_t value);
  void Flag(std::string_view key, bool value);
  void Number(std::string_view key, double value);
  void Words(std::string_view key, std::string_view value);
  void Text(std::string_view key, StringId value);

  void Json(std::string_view key, StringId value) { Text(key, value); }

  void Triple(std::string_view key, std::int64_t x, std::int64_t y, std::int64_t z);

  // Arguments without a column are for the files that are read again.
  void Fields(StringId) {}

  /// Writes the event that was started.
  void Write(std::uint64_t at_ns);

 private:
  template <typename AddValue>
  void Annotate(std::string_view key, AddValue&& add_value);

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
  /// Describes the tree in `sequence`. `parent` is the track above the rank, or 0; `order` is its
  /// place there.
  RankTracks(const trace::Trace& trace, const RankLayout& layout, std::int64_t rank,
             std::uint64_t parent, std::int32_t order, TrackUuids& uuids, Sequence& sequence);

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

}  // namespace orrery::exporting::perfetto
