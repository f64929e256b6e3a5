#pragma once

#include <cstddef>

#include "orrery/base/error.h"
#include "orrery/trace/trace_set.h"

// The parts of a container (docs/formats/orr.md): blocks of packed values, and a directory that
// describes them.

namespace orrery::trace::orr {

/// The type of a column's values. Stored by number: append at the end, never reorder.
enum class ValueKind : std::uint8_t {
  kInt64,
  kUInt64,
  kInt32,
  kUInt8,
  kFloat64,
  kString,
  kRow,
  kEnum
};

enum class Transform : std::uint8_t {
  kOffset,  // value = base + stored
  kDelta,   // value = previous value + base + stored
  kRow,     // value = row within the block + base + stored
};

enum class Packing : std::uint8_t {
  kRaw,
  kZstd,
  kZstdPlanes,  // all lowest bytes of the stored values, then all second bytes, and so on
};

/// One block: where its bytes are and how they become values again.
struct BlockEntry {
  std::uint64_t offset = 0;
  std::uint32_t stored_bytes = 0;
  Transform transform = Transform::kOffset;
  std::uint8_t width = 0;  // bytes of a stored value; 0: nothing is stored, all are zero
  Packing packing = Packing::kRaw;
  std::uint64_t base = 0;
  std::uint64_t first = 0;     // the first value, for kDelta
  std::uint64_t checksum = 0;  // XXH64 of the stored bytes

  bool operator==(const BlockEntry&) const = default;
};

using BlockList = std::vector<BlockEntry>;

struct ColumnEntry {
  std::string name;
  ValueKind kind = ValueKind::kInt64;
  BlockList blocks{};

  bool operator==(const ColumnEntry&) const = default;
};

struct TableEntry {
  std::string name;
  std::uint64_t num_rows = 0;
  std::vector<ColumnEntry> columns{};

  bool operator==(const TableEntry&) const = default;
};

/// The strings of a rank: their lengths as 64-bit integers, and all characters one after the other.
struct StringsEntry {
  std::uint64_t num_strings = 0;
  std::uint64_t num_characters = 0;
  BlockList lengths;
  BlockList characters;

  bool operator==(const StringsEntry&) const = default;
};

struct RankEntry {
  TraceInfo info;
  ProblemLog problems;
  StringsEntry strings;
  std::vector<TableEntry> tables;

  bool operator==(const RankEntry&) const = default;
};

struct Directory {
  std::uint32_t rows_per_block = 0;
  std::uint32_t characters_per_block = 0;
  std::optional<WorkloadCard> card{};
  ProblemLog problems{};
  std::vector<RankEntry> ranks{};

  bool operator==(const Directory&) const = default;
};

/// Calls `visit(blocks)` for each list of blocks of a rank, in the order they have in the file.
template <typename Rank, typename Visit>
void ForEachBlockList(Rank& rank, Visit&& visit) {
  visit(rank.strings.lengths);
  visit(rank.strings.characters);
  for (auto& table : rank.tables) {
    for (auto& column : table.columns) {
      visit(column.blocks);
    }
  }
}

/// Bounds what a reader needs as working memory.
inline constexpr std::uint32_t kMaxRowsPerBlock = 1 << 20;

inline constexpr std::string_view kDamageFix =
    "the file is damaged; copy it again, or convert the original recording again";

/// The newest version of containers; this program reads it and all before it.
inline constexpr std::uint32_t kContainerVersion = 2;

/// The version of containers that are written fast, which older programs read, too.
inline constexpr std::uint32_t kFastVersion = 1;

inline constexpr std::size_t kHeaderBytes = 16;

/// Returns the first bytes of a container: magic and version.
[[nodiscard]] std::string Header(std::uint32_t version = kFastVersion);

/// Returns the directory as bytes.
[[nodiscard]] std::string EncodeDirectory(const Directory& directory);

/// Returns an encoded directory as one zstd frame, as containers of version 2 have it.
[[nodiscard]] std::string PackDirectory(std::string_view directory);

/// Returns the encoded directory and the footer that follow `directory_offset` bytes of header and
/// blocks.
[[nodiscard]] std::string Closing(std::uint64_t directory_offset, std::string_view directory,
                                  std::uint32_t version = kFastVersion);

/// Checks header, footer and the checksum over both and the directory; returns the bytes of the
/// directory.
[[nodiscard]] Result<std::string_view> OpenEnvelope(std::string_view file);

/// Returns the directory that `bytes`, packed or not, describe. Allocates in proportion to the
/// bytes, whatever they claim; the reader checks that blocks lie in the file and fit their columns.
[[nodiscard]] Result<Directory> DecodeDirectory(std::string_view bytes);

}  // namespace orrery::trace::orr
