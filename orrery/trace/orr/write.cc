#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/check.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_sink.h"
#include "orrery/base/string_table.h"
#include "orrery/trace/orr/block_codec.h"
#include "orrery/trace/orr/layout.h"
#include "orrery/trace/orr/orr.h"
#include "orrery/trace/orr/value_rules.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::trace {
namespace orr {
namespace {

constexpr std::uint32_t kCharactersPerBlock = 512 * 1024;
constexpr std::uint32_t kManyCharactersPerBlock = 32 * kCharactersPerBlock;

std::uint32_t CharactersPerBlock(const OrrOptions& options) {
  return options.smallest ? kManyCharactersPerBlock : kCharactersPerBlock;
}

std::string AllCharacters(const StringTable& strings) {
  std::string characters;
  for (std::size_t id = 0; id < strings.size(); ++id) {
    characters.append(strings.View(static_cast<StringId>(id)));
  }
  return characters;
}

std::vector<std::uint64_t> AllLengths(const StringTable& strings) {
  std::vector<std::uint64_t> lengths;
  lengths.reserve(strings.size());
  for (std::size_t id = 0; id < strings.size(); ++id) {
    lengths.push_back(strings.View(static_cast<StringId>(id)).size());
  }
  return lengths;
}

// Packs one rank: first it notes what goes into which block, then it packs the blocks on all
// threads, then it writes them in the order they were noted.
class RankWriter {
 public:
  RankWriter(const Trace& trace, const OrrOptions& options)
      : options_(options),
        characters_(AllCharacters(trace.strings)),
        lengths_(AllLengths(trace.strings)) {
    entry_.info = trace.info;
    entry_.problems = trace.problems;
    NoteStrings();
    ForEachTable(trace, [&](const char* name, const auto& table) { NoteTable(name, table); });
  }

  // Appends the blocks to `file`, which has `size` bytes.
  Result<RankEntry> Write(ByteSink& file, std::uint64_t& size) {
    std::vector<EncodedBlock> blocks(sources_.size());
    ForEachIndex(
        sources_.size(), options_.threads, [&] { return BlockEncoder(options_.smallest); },
        [&](BlockEncoder& encoder, std::size_t index) {
          blocks[index] = EncodeSource(encoder, sources_[index]);
        });
    for (EncodedBlock& block : blocks) {
      block.entry.offset = std::exchange(size, size + block.bytes.size());
      ORRERY_TRY_STATUS(file.Write(block.bytes));
    }
    EnterBlocks(blocks);
    return std::move(entry_);
  }

 private:
  struct Source {
    RawValues values;
    bool are_characters = false;
  };

  static EncodedBlock EncodeSource(BlockEncoder& encoder, const Source& source) {
    if (!source.are_characters) {
      return encoder.Encode(source.values);
    }
    return encoder.EncodeCharacters(
        {reinterpret_cast<const char*>(source.values.data), source.values.count});
  }

  void NoteStrings() {
    entry_.strings.num_strings = lengths_.size();
    entry_.strings.num_characters = characters_.size();
    NoteValues(lengths_, entry_.strings.lengths);
    Note({reinterpret_cast<const std::byte*>(characters_.data()), 1, characters_.size()},
         CharactersPerBlock(options_), true, entry_.strings.characters);
  }

  // Empty tables are left out.
  template <typename Table>
  void NoteTable(const char* name, const Table& table) {
    if (table.empty()) {
      return;
    }
    TableEntry& entry =
        entry_.tables.emplace_back(TableEntry{.name = name, .num_rows = table.size()});
    ForEachColumn(table, [&]<typename T>(const char* column_name, const std::vector<T>& column) {
      ORRERY_CHECK(column.size() == table.size(), "columns of a table are equally long");
      entry.columns.push_back({.name = column_name, .kind = KindOf<T>()});
      NoteValues(column, entry.columns.back().blocks);
    });
  }

  template <typename T>
  void NoteValues(const std::vector<T>& values, BlockList& blocks) {
    Note({reinterpret_cast<const std::byte*>(values.data()), sizeof(T), values.size()},
         options_.rows_per_block, false, blocks);
  }

  void Note(const RawValues& all, std::size_t per_block, bool are_characters, BlockList& blocks) {
    for (std::size_t begin = 0; begin < all.count; begin += per_block) {
      const RawValues part{all.data + begin * all.value_bytes, all.value_bytes,
                           std::min(per_block, all.count - begin)};
      sources_.push_back({part, are_characters});
      blocks.emplace_back();
    }
  }

  void EnterBlocks(const std::vector<EncodedBlock>& blocks) {
    auto next = blocks.begin();
    ForEachBlockList(entry_, [&](BlockList& list) {
      for (BlockEntry& entry : list) {
        entry = (next++)->entry;
      }
    });
  }

  const OrrOptions& options_;
  std::string characters_;
  std::vector<std::uint64_t> lengths_;
  RankEntry entry_;
  std::vector<Source> sources_;
};

}  // namespace
}  // namespace orr

Status WriteOrr(const TraceSet& set, const std::string& path, const OrrOptions& options) {
  ORRERY_CHECK(options.rows_per_block > 0 && options.rows_per_block <= orr::kMaxRowsPerBlock,
               "blocks are neither empty nor larger than readers accept");
  orr::Directory directory{.rows_per_block = options.rows_per_block,
                           .characters_per_block = orr::CharactersPerBlock(options),
                           .card = set.card,
                           .problems = set.problems};
  ORRERY_TRY(const std::unique_ptr<ByteSink> file, CreateFile(path));
  std::uint64_t size = orr::kHeaderBytes;
  const std::uint32_t version = options.smallest ? orr::kContainerVersion : orr::kFastVersion;
  ORRERY_TRY_STATUS(file->Write(orr::Header(version)));
  for (const Trace& trace : set.ranks) {
    ORRERY_TRY(orr::RankEntry rank, orr::RankWriter(trace, options).Write(*file, size));
    directory.ranks.push_back(std::move(rank));
  }
  const std::string plain = orr::EncodeDirectory(directory);
  ORRERY_TRY_STATUS(file->Write(
      orr::Closing(size, options.smallest ? orr::PackDirectory(plain) : plain, version)));
  return file->Close();
}

}  // namespace orrery::trace
