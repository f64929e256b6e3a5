#include "orrery/trace/orr/directory.h"

#include <cstdint>
#include <utility>

#include <fmt/core.h>

#include "orrery/base/byte_cursor.h"

namespace orrery::trace::orr {
namespace {

constexpr std::size_t kBlockEntryBytes = 40;
constexpr std::size_t kRecordBytes = sizeof(std::uint32_t);  // an empty record

void Put(ByteWriter& writer, const BlockList& blocks) {
  writer.Number(static_cast<std::uint32_t>(blocks.size()));
  for (const BlockEntry& block : blocks) {
    writer.Number(block.offset);
    writer.Number(block.stored_bytes);
    writer.Number(static_cast<std::uint8_t>(block.transform));
    writer.Number(block.width);
    writer.Number(static_cast<std::uint8_t>(block.packing));
    writer.Number(std::uint8_t{0});
    writer.Number(block.base);
    writer.Number(block.first);
    writer.Number(block.checksum);
  }
}

BlockList GetBlocks(ByteReader& reader) {
  BlockList blocks(reader.Count(kBlockEntryBytes));
  for (BlockEntry& block : blocks) {
    block.offset = reader.Number<std::uint64_t>();
    block.stored_bytes = reader.Number<std::uint32_t>();
    block.transform = reader.EnumBelow<Transform>(2);
    block.width = reader.Number<std::uint8_t>();
    block.packing = reader.EnumBelow<Packing>(2);
    reader.Number<std::uint8_t>();
    block.base = reader.Number<std::uint64_t>();
    block.first = reader.Number<std::uint64_t>();
    block.checksum = reader.Number<std::uint64_t>();
  }
  return blocks;
}

void Put(ByteWriter& writer, const ColumnEntry& column) {
  writer.Text(column.name);
  writer.Number(static_cast<std::uint8_t>(column.kind));
  Put(writer, column.blocks);
}

// A kind of a later version is kept as it is: if the column is unknown too, both are skipped.
void Get(ByteReader& reader, ColumnEntry& column) {
  column.name = reader.Text();
  column.kind = static_cast<ValueKind>(reader.Number<std::uint8_t>());
  column.blocks = GetBlocks(reader);
}

void Put(ByteWriter& writer, const Problem& problem) {
  writer.Text(problem.what);
  writer.Text(problem.first);
  writer.Number(problem.count);
  writer.Number(static_cast<std::uint8_t>(problem.severity));
}

void Get(ByteReader& reader, Problem& problem) {
  problem.what = reader.Text();
  problem.first = reader.Text();
  problem.count = reader.Number<std::int64_t>();
  problem.severity = reader.EnumBelow<Severity>(2);
}

void Put(ByteWriter& writer, const TableEntry& table);
void Get(ByteReader& reader, TableEntry& table);
void Put(ByteWriter& writer, const RankEntry& rank);
void Get(ByteReader& reader, RankEntry& rank);

// A list is how many there are, then a record for each.
template <typename Item>
void PutList(ByteWriter& writer, const std::vector<Item>& items) {
  writer.Number(static_cast<std::uint32_t>(items.size()));
  for (const Item& item : items) {
    writer.Record([&] { Put(writer, item); });
  }
}

template <typename Item>
void GetList(ByteReader& reader, std::vector<Item>& items) {
  const std::size_t count = reader.Count(kRecordBytes);
  for (std::size_t i = 0; i < count && !reader.failed(); ++i) {
    reader.Record([&](ByteReader& record) { Get(record, items.emplace_back()); });
  }
}

void Put(ByteWriter& writer, const ProblemLog& problems) {
  PutList(writer, problems.all());
}

void Get(ByteReader& reader, ProblemLog& problems) {
  std::vector<Problem> list;
  GetList(reader, list);
  for (const Problem& problem : list) {
    problems.Add(problem.what, problem.count, problem.first, problem.severity);
  }
}

void Put(ByteWriter& writer, const TableEntry& table) {
  writer.Text(table.name);
  writer.Number(table.num_rows);
  PutList(writer, table.columns);
}

void Get(ByteReader& reader, TableEntry& table) {
  table.name = reader.Text();
  table.num_rows = reader.Number<std::uint64_t>();
  GetList(reader, table.columns);
}

void Put(ByteWriter& writer, const TraceInfo& info) {
  writer.Number(info.rank);
  writer.Number(info.world_size);
  writer.Text(info.format);
  writer.Text(info.format_version);
  writer.Text(info.producer);
  writer.Text(info.host_name);
  writer.Text(info.backend);
  writer.Number(static_cast<std::uint8_t>(info.time_origin));
  writer.Number(static_cast<std::uint32_t>(info.files.size()));
  for (const std::string& file : info.files) {
    writer.Text(file);
  }
}

void Get(ByteReader& reader, TraceInfo& info) {
  info.rank = reader.Number<std::int32_t>();
  info.world_size = reader.Number<std::int32_t>();
  info.format = reader.Text();
  info.format_version = reader.Text();
  info.producer = reader.Text();
  info.host_name = reader.Text();
  info.backend = reader.Text();
  info.time_origin = reader.EnumBelow<TimeOrigin>(3);
  info.files.resize(reader.Count(sizeof(std::uint32_t)));
  for (std::string& file : info.files) {
    file = reader.Text();
  }
}

void Put(ByteWriter& writer, const StringsEntry& strings) {
  writer.Number(strings.num_strings);
  writer.Number(strings.num_characters);
  Put(writer, strings.lengths);
  Put(writer, strings.characters);
}

void Get(ByteReader& reader, StringsEntry& strings) {
  strings.num_strings = reader.Number<std::uint64_t>();
  strings.num_characters = reader.Number<std::uint64_t>();
  strings.lengths = GetBlocks(reader);
  strings.characters = GetBlocks(reader);
}

void Put(ByteWriter& writer, const RankEntry& rank) {
  writer.Record([&] { Put(writer, rank.info); });
  writer.Record([&] { Put(writer, rank.problems); });
  writer.Record([&] { Put(writer, rank.strings); });
  PutList(writer, rank.tables);
}

void Get(ByteReader& reader, RankEntry& rank) {
  reader.Record([&](ByteReader& record) { Get(record, rank.info); });
  reader.Record([&](ByteReader& record) { Get(record, rank.problems); });
  reader.Record([&](ByteReader& record) { Get(record, rank.strings); });
  GetList(reader, rank.tables);
}

void Put(ByteWriter& writer, const WorkloadCard& card) {
  writer.Text(card.file);
  writer.Number(static_cast<std::uint32_t>(card.values.size()));
  for (const auto& [path, value] : card.values) {
    writer.Text(path);
    writer.Text(value);
  }
}

void Get(ByteReader& reader, WorkloadCard& card) {
  card.file = reader.Text();
  const std::size_t count = reader.Count(2 * sizeof(std::uint32_t));
  for (std::size_t i = 0; i < count && !reader.failed(); ++i) {
    std::string path = reader.Text();
    card.values[std::move(path)] = reader.Text();
  }
}

void Put(ByteWriter& writer, const std::optional<WorkloadCard>& card) {
  writer.Number(static_cast<std::uint8_t>(card.has_value()));
  if (card) {
    writer.Record([&] { Put(writer, *card); });
  }
}

void Get(ByteReader& reader, std::optional<WorkloadCard>& card) {
  if (reader.EnumBelow<std::uint8_t>(2) == 1) {
    reader.Record([&](ByteReader& record) { Get(record, card.emplace()); });
  }
}

}  // namespace

std::string EncodeDirectory(const Directory& directory) {
  ByteWriter writer;
  writer.Number(directory.rows_per_block);
  writer.Number(directory.characters_per_block);
  Put(writer, directory.card);
  writer.Record([&] { Put(writer, directory.problems); });
  PutList(writer, directory.ranks);
  return writer.bytes();
}

Result<Directory> DecodeDirectory(std::string_view bytes) {
  Directory directory;
  ByteReader reader(bytes);
  directory.rows_per_block = reader.Number<std::uint32_t>();
  directory.characters_per_block = reader.Number<std::uint32_t>();
  Get(reader, directory.card);
  reader.Record([&](ByteReader& record) { Get(record, directory.problems); });
  GetList(reader, directory.ranks);
  if (reader.failed()) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("directory: its entries do not fit into it: {}", kDamageFix));
  }
  directory.problems.Loss("bytes that a newer Orrery put into the container, skipped",
                          static_cast<std::int64_t>(reader.skipped_bytes()));
  return directory;
}

}  // namespace orrery::trace::orr
