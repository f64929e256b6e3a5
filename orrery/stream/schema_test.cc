#include "orrery/stream/schema.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "orrery/stream/field.h"
#include "orrery/stream/format.h"
#include "orrery/stream/record_codec.h"
#include "test_paths.h"

namespace orrery::stream {
namespace {

constexpr std::array<std::string_view, 13> kChunkNames{
    "", "HDR", "STR", "STK", "MOD", "FUN", "EVT", "OBJ", "AGG", "TMD", "TRC", "COV", "CAL"};

constexpr std::array<std::string_view, 10> kEncodingNames{
    "u", "s", "m", "text", "list", "Δtime", "Δaddress", "Δsequence", "Δreference", "Δobject"};

template <typename Record>
std::string RowOf() {
  std::string fields;
  Record::VisitFields([&]<Encoding encoding>(const schema::Field<encoding, Record>& field) {
    fields += fmt::format("{}`{}` {}", fields.empty() ? "" : ", ", field.name,
                          kEncodingNames[static_cast<std::size_t>(encoding)]);
  });
  return fmt::format("| {} {} | {} | `{}` | {} |\n", static_cast<int>(Record::kChunk),
                     kChunkNames[static_cast<std::size_t>(Record::kChunk)], Record::kKind,
                     Record::kName, fields);
}

// The rows of the table of records in docs/formats/orrs.md.
std::string SchemaText() {
  std::string text;
  ForEachRecordType([&]<typename Record>() { text += RowOf<Record>(); });
  return text;
}

TEST(SchemaTest, NoTwoRecordsOfAChunkShareANumberAndNoneIsZero) {
  std::map<ChunkType, std::set<std::uint64_t>> kinds;

  ForEachRecordType([&]<typename Record>() {
    EXPECT_TRUE(kinds[Record::kChunk].insert(Record::kKind).second) << Record::kName;
    EXPECT_NE(Record::kKind, 0U) << Record::kName;
  });
}

TEST(SchemaTest, NoRecordHasMoreListsThanReadersHold) {
  ForEachRecordType([]<typename Record>() {
    std::size_t num_lists = 0;
    Record::VisitFields([&]<Encoding encoding>(const schema::Field<encoding, Record>&) {
      num_lists += encoding == Encoding::kNumbers ? 1 : 0;
    });
    EXPECT_LE(num_lists, NumberLists::kMost) << Record::kName;
  });
}

TEST(SchemaTest, EveryEventBeginsWithNumberTimeAndThread) {
  ForEachRecordType([]<typename Record>() {
    std::string names;
    Record::VisitFields([&](const auto& field) { names += std::string(field.name) + " "; });
    EXPECT_EQ(names.starts_with("sequence time_ns thread "), Record::kChunk == ChunkType::kEvents)
        << Record::kName;
  });
}

// The document repeats the schema; replace its table by the text that this test prints.
TEST(SchemaTest, TheDocumentHasTheSameFields) {
  std::ifstream file(ORRERY_TEST_DATA "/../../docs/formats/orrs.md");
  const std::string document{std::istreambuf_iterator<char>(file), {}};

  EXPECT_NE(document.find(SchemaText()), std::string::npos) << SchemaText();
}

}  // namespace
}  // namespace orrery::stream
