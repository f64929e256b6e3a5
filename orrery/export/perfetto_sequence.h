#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <protozero/pbf_writer.hpp>
#include <tsl/robin_map.h>

#include "orrery/base/byte_sink.h"
#include "orrery/base/error.h"
#include "orrery/base/string_table.h"
#include "orrery/export/perfetto_fields.h"

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

}  // namespace orrery::exporting::perfetto
