#include "orrery/stream/schema.h"

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "orrery/stream/record_codec.h"
#include "orrery/stream/schema_text.h"

namespace orrery::stream {
namespace {

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
    ForEachField<Record>([&]<Encoding encoding>(const schema::Field<encoding, Record>&) {
      num_lists += encoding == Encoding::kNumbers ? 1 : 0;
    });
    EXPECT_LE(num_lists, NumberLists::kMost) << Record::kName;
  });
}

TEST(SchemaTest, EveryEventBeginsWithNumberTimeAndThread) {
  ForEachRecordType([]<typename Record>() {
    std::string names;
    ForEachField<Record>([&](const auto& field) { names += std::string(field.name) + " "; });
    EXPECT_EQ(names.starts_with("sequence time_ns thread "), Record::kChunk == ChunkType::kEvents)
        << Record::kName;
  });
}

// The document repeats the schema; write it anew with what this test prints.
TEST(SchemaTest, TheDocumentHasTheSameFields) {
  std::ifstream file(ORRERY_TEST_DATA "/../../docs/formats/orrs.md");
  const std::string document{std::istreambuf_iterator<char>(file), {}};

  EXPECT_NE(document.find(SchemaText()), std::string::npos) << SchemaText();
}

}  // namespace
}  // namespace orrery::stream
