#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <xxhash.h>

#include "orrery/base/error.h"
#include "orrery/base/file/byte_cursor.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/base/file/zstd_frame.h"
#include "orrery/trace/orr/layout.h"
#include "orrery/trace/orr/orr.h"
#include "orrery/trace/problems.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::trace::orr {
namespace {

constexpr std::string_view kEndMark = "ORR end\n";

// Directory offset, directory bytes, checksum, end mark.
constexpr std::size_t kFooterBytes = 32;

auto Damaged(std::string_view what) {
  return Fail(Error::Kind::kInvalidInput, fmt::format("{}: {}", what, kDamageFix));
}

// Covers all that is not a block: header, directory, and where the directory is.
std::uint64_t Checksum(std::string_view header, std::string_view directory,
                       std::uint64_t directory_offset) {
  const std::uint64_t seed = XXH64(header.data(), header.size(), directory_offset);
  return XXH64(directory.data(), directory.size(), seed);
}

Status CheckHeader(std::string_view file) {
  if (!IsOrr(file)) {
    return Fail(Error::Kind::kInvalidInput,
                "not an Orrery container: it does not begin with the magic bytes of one");
  }
  ByteReader reader(file.substr(kOrrMagic.size()));
  const auto version = reader.Number<std::uint32_t>();
  if (reader.failed()) {
    return Damaged("the container ends inside its header");
  }
  if (version > kContainerVersion) {
    return Fail(Error::Kind::kUnsupported,
                fmt::format("written by a newer Orrery (container version {}, this program reads "
                            "{}): update Orrery",
                            version, kContainerVersion));
  }
  if (version == 0) {
    return Damaged("the header names container version 0, which does not exist");
  }
  return {};
}

// Writes the fields of entries. `Fields(coder, entry)` lists the fields of each type of entry for
// both directions: `coder` is an Encoder or a Decoder.
class Encoder {
 public:
  template <typename T>
  using Entry = const T;

  void Number(std::integral auto value) { writer_.Number(value); }

  void Text(const std::string& text) { writer_.Text(text); }

  template <typename Enum>
  void Enumerator(Enum value, std::uint8_t /*limit*/) {
    Number(static_cast<std::uint8_t>(value));
  }

  template <typename Entry>
  void Record(const Entry& entry) {
    writer_.Record([&] { Fields(*this, entry); });
  }

  // The number of items, then `code(item)` for each.
  template <typename Items, typename Code>
  void List(const Items& items, std::size_t /*min_bytes*/, Code&& code) {
    Number(static_cast<std::uint32_t>(items.size()));
    for (const auto& item : items) {
      code(item);
    }
  }

  [[nodiscard]] const std::string& bytes() const { return writer_.bytes(); }

 private:
  ByteWriter writer_;
};

class Decoder {
 public:
  template <typename T>
  using Entry = T;

  explicit Decoder(ByteReader& reader) : reader_(reader) {}

  template <std::integral T>
  void Number(T& value) {
    value = reader_.Number<T>();
  }

  void Text(std::string& text) { text = reader_.Text(); }

  template <typename Enum>
  void Enumerator(Enum& value, std::uint8_t limit) {
    value = reader_.EnumBelow<Enum>(limit);
  }

  template <typename Entry>
  void Record(Entry& entry) {
    reader_.Record([&](ByteReader& record) {
      Decoder decoder(record);
      Fields(decoder, entry);
    });
  }

  template <typename Items, typename Code>
  void List(Items& items, std::size_t min_bytes, Code&& code) {
    const std::size_t count = reader_.Count(min_bytes);
    for (std::size_t i = 0; i < count && !reader_.failed(); ++i) {
      code(items.emplace_back());
    }
  }

 private:
  ByteReader& reader_;
};

template <typename Coder, typename T>
using EntryOf = typename Coder::template Entry<T>;

template <typename Coder>
constexpr bool kDecodes = std::is_same_v<Coder, Decoder>;

constexpr std::size_t kBlockEntryBytes = 40;
constexpr std::size_t kRecordBytes = sizeof(std::uint32_t);  // an empty record

template <typename Coder>
void Blocks(Coder& coder, EntryOf<Coder, BlockList>& blocks) {
  coder.List(blocks, kBlockEntryBytes, [&](EntryOf<Coder, BlockEntry>& block) {
    std::uint8_t unused = 0;
    coder.Number(block.offset);
    coder.Number(block.stored_bytes);
    coder.Enumerator(block.transform, 3);
    coder.Number(block.width);
    coder.Enumerator(block.packing, 3);
    coder.Number(unused);
    coder.Number(block.base);
    coder.Number(block.first);
    coder.Number(block.checksum);
  });
}

template <typename Coder, typename Items>
void Records(Coder& coder, Items& items) {
  coder.List(items, kRecordBytes, [&](auto& item) { coder.Record(item); });
}

// A kind of a later version is kept as it is: if the column is unknown too, both are skipped.
template <typename Coder>
void Fields(Coder& coder, EntryOf<Coder, ColumnEntry>& column) {
  auto kind = static_cast<std::uint8_t>(column.kind);
  coder.Text(column.name);
  coder.Number(kind);
  if constexpr (kDecodes<Coder>) {
    column.kind = static_cast<ValueKind>(kind);
  }
  Blocks(coder, column.blocks);
}

template <typename Coder>
void Fields(Coder& coder, EntryOf<Coder, Problem>& problem) {
  coder.Text(problem.what);
  coder.Text(problem.first);
  coder.Number(problem.count);
  coder.Enumerator(problem.severity, 2);
}

template <typename Coder>
void Fields(Coder& coder, EntryOf<Coder, ProblemLog>& problems) {
  std::vector<Problem> list = problems.all();
  Records(coder, list);
  if constexpr (kDecodes<Coder>) {
    for (const Problem& problem : list) {
      problems.Add(problem.what, problem.count, problem.first, problem.severity);
    }
  }
}

template <typename Coder>
void Fields(Coder& coder, EntryOf<Coder, TableEntry>& table) {
  coder.Text(table.name);
  coder.Number(table.num_rows);
  Records(coder, table.columns);
}

template <typename Coder>
void Fields(Coder& coder, EntryOf<Coder, TraceInfo>& info) {
  coder.Number(info.rank);
  coder.Number(info.world_size);
  for (auto* const text :
       {&info.format, &info.format_version, &info.producer, &info.host_name, &info.backend}) {
    coder.Text(*text);
  }
  coder.Enumerator(info.time_origin, 3);
  coder.List(info.files, sizeof(std::uint32_t), [&](auto& file) { coder.Text(file); });
}

template <typename Coder>
void Fields(Coder& coder, EntryOf<Coder, StringsEntry>& strings) {
  coder.Number(strings.num_strings);
  coder.Number(strings.num_characters);
  Blocks(coder, strings.lengths);
  Blocks(coder, strings.characters);
}

template <typename Coder>
void Fields(Coder& coder, EntryOf<Coder, RankEntry>& rank) {
  coder.Record(rank.info);
  coder.Record(rank.problems);
  coder.Record(rank.strings);
  Records(coder, rank.tables);
}

template <typename Coder>
void Fields(Coder& coder, EntryOf<Coder, WorkloadCard>& card) {
  coder.Text(card.file);
  std::vector<std::pair<std::string, std::string>> values(card.values.begin(), card.values.end());
  coder.List(values, 2 * sizeof(std::uint32_t), [&](auto& value) {
    coder.Text(value.first);
    coder.Text(value.second);
  });
  if constexpr (kDecodes<Coder>) {
    for (auto& [path, value] : values) {
      card.values[std::move(path)] = std::move(value);
    }
  }
}

template <typename Coder>
void Fields(Coder& coder, EntryOf<Coder, Directory>& directory) {
  coder.Number(directory.rows_per_block);
  coder.Number(directory.characters_per_block);
  auto has_card = static_cast<std::uint8_t>(directory.card.has_value());
  coder.Enumerator(has_card, 2);
  if constexpr (kDecodes<Coder>) {
    directory.card = has_card == 1 ? std::optional<WorkloadCard>(std::in_place) : std::nullopt;
  }
  if (directory.card) {
    coder.Record(*directory.card);
  }
  coder.Record(directory.problems);
  Records(coder, directory.ranks);
}

Result<Directory> DecodePlain(std::string_view bytes) {
  Directory directory;
  ByteReader reader(bytes);
  Decoder decoder(reader);
  Fields(decoder, directory);
  if (reader.failed()) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("directory: its entries do not fit into it: {}", kDamageFix));
  }
  directory.problems.Loss("bytes that a newer Orrery put into the container, skipped",
                          static_cast<std::int64_t>(reader.skipped_bytes()));
  return directory;
}

}  // namespace

std::string Header(std::uint32_t version) {
  ByteWriter writer;
  writer.Number(version);
  writer.Number(std::uint32_t{0});
  return std::string(kOrrMagic) + writer.bytes();
}

std::string Closing(std::uint64_t directory_offset, std::string_view directory,
                    std::uint32_t version) {
  ByteWriter writer;
  writer.Number(directory_offset);
  writer.Number(static_cast<std::uint64_t>(directory.size()));
  writer.Number(Checksum(Header(version), directory, directory_offset));
  return std::string(directory) + writer.bytes() + std::string(kEndMark);
}

Result<std::string_view> OpenEnvelope(std::string_view file) {
  ORRERY_TRY_STATUS(CheckHeader(file));
  if (file.size() < kHeaderBytes + kFooterBytes || !file.ends_with(kEndMark)) {
    return Damaged("the container ends early, without its directory");
  }
  const std::size_t footer = file.size() - kFooterBytes;
  ByteReader reader(file.substr(footer));
  const auto offset = reader.Number<std::uint64_t>();
  const auto size = reader.Number<std::uint64_t>();
  const auto checksum = reader.Number<std::uint64_t>();
  if (offset < kHeaderBytes || offset > footer || size != footer - offset) {
    return Damaged("the footer points outside the container");
  }
  const std::string_view directory = file.substr(offset, size);
  if (Checksum(file.substr(0, kHeaderBytes), directory, offset) != checksum) {
    return Damaged("the checksum of the directory does not match");
  }
  return directory;
}

std::string EncodeDirectory(const Directory& directory) {
  Encoder encoder;
  Fields(encoder, directory);
  return encoder.bytes();
}

std::string PackDirectory(std::string_view directory) {
  return ZstdFrame(directory);
}

// A plain directory cannot look packed: its first number would be too many rows for a block.
Result<Directory> DecodeDirectory(std::string_view bytes) {
  if (SniffCompression(bytes) != Compression::kZstd) {
    return DecodePlain(bytes);
  }
  const std::unique_ptr<ByteSource> source = Unpack(OpenMemory(bytes));
  ORRERY_TRY(const std::string plain, ReadAll(*source));
  if (!source->damage().empty()) {
    return Damaged("directory: " + source->damage());
  }
  return DecodePlain(plain);
}

}  // namespace orrery::trace::orr
