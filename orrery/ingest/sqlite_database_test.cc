#include "orrery/ingest/sqlite_database.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/ingest/database_test.h"
#include "orrery/ingest/input_file.h"

namespace orrery::ingest {
namespace {

using testing::ElementsAre;

constexpr std::array<std::string_view, 2> kColumns{"a", "b"};

Result<SqliteDatabase> OpenBytes(std::string_view bytes) {
  ORRERY_TRY(const InputFile file, InputFile::FromMemory("x.sqlite", bytes));
  return SqliteDatabase::Open(file);
}

TEST(SqliteDatabaseTest, OnlyRealTablesAreSeen) {
  TestDatabase made;
  ASSERT_EQ(made.Run("CREATE TABLE t (a); CREATE VIEW v AS SELECT 1 AS a;"
                     "CREATE VIRTUAL TABLE f USING fts5(a);"),
            "");
  const std::string bytes = made.Bytes();

  const auto database = OpenBytes(bytes);

  ASSERT_TRUE(database);
  EXPECT_TRUE(database->HasTable("t"));
  EXPECT_FALSE(database->HasTable("v"));
  EXPECT_FALSE(database->HasTable("f"));
}

TEST(SqliteDatabaseTest, AMissingTableHasNoRowsAndAMissingColumnOnlyMissingValues) {
  TestDatabase made;
  ASSERT_EQ(made.Run("CREATE TABLE t (b); INSERT INTO t VALUES (7)"), "");
  const std::string bytes = made.Bytes();
  const auto database = OpenBytes(bytes);
  ASSERT_TRUE(database);

  EXPECT_FALSE(database->Scan("absent", kColumns).Next());
  TableScan scan = database->Scan("t", kColumns);
  ASSERT_TRUE(scan.Next());
  EXPECT_FALSE(scan.has_column(0));
  EXPECT_TRUE(scan.IsMissing(0));
  EXPECT_EQ(scan.Integer(0, -5), -5);
  EXPECT_EQ(scan.Text(0), "");
  EXPECT_EQ(scan.Integer(1), 7);
  EXPECT_FALSE(scan.Next());
  EXPECT_EQ(scan.damage(), "");
}

TEST(SqliteDatabaseTest, ValuesOfTheWrongTypeAreConvertedWhereThatIsSafeAndMissingElsewhere) {
  TestDatabase made;
  ASSERT_EQ(made.Run("CREATE TABLE t (a); INSERT INTO t VALUES ('12'), ('12 ms'), (12.4), (1e30),"
                     "(x'00'), (NULL), (5000000000)"),
            "");
  const std::string bytes = made.Bytes();
  const auto database = OpenBytes(bytes);
  ASSERT_TRUE(database);

  std::vector<std::int64_t> integers;
  std::vector<std::int32_t> small;
  TableScan scan = database->Scan("t", kColumns);
  while (scan.Next()) {
    integers.push_back(scan.Integer(0, -1));
    small.push_back(scan.SmallInteger(0, -2));
  }

  EXPECT_THAT(integers, ElementsAre(12, -1, 12, -1, -1, -1, 5000000000));
  EXPECT_THAT(small, ElementsAre(12, -2, 12, -2, -2, -2, -2));
}

TEST(SqliteDatabaseTest, APathWithOddCharactersIsOpenedInPlace) {
  TestDatabase made;
  ASSERT_EQ(made.Run("CREATE TABLE t (a); INSERT INTO t VALUES (1)"), "");
  const auto path = std::filesystem::temp_directory_path() / "orrery a?mode=rw#%41&.sqlite";
  std::ofstream(path, std::ios::binary) << made.Bytes();
  const auto file = InputFile::Open(path.string());
  ASSERT_TRUE(file);

  const auto database = SqliteDatabase::Open(*file);

  ASSERT_TRUE(database);
  EXPECT_TRUE(database->HasTable("t"));
  std::filesystem::remove(path);
}

// Bytes 18 and 19 of the header are 2 in write-ahead mode; SQLite would look for a log beside it.
TEST(SqliteDatabaseTest, AFileLeftInWriteAheadModeIsRead) {
  TestDatabase made;
  ASSERT_EQ(made.Run("CREATE TABLE t (a); INSERT INTO t VALUES (1)"), "");
  std::string bytes = made.Bytes();
  bytes[18] = bytes[19] = 2;
  const auto path = std::filesystem::temp_directory_path() / "orrery_write_ahead_test.sqlite";
  std::ofstream(path, std::ios::binary) << bytes;
  const auto file = InputFile::Open(path.string());
  ASSERT_TRUE(file);

  const auto database = SqliteDatabase::Open(*file);

  ASSERT_TRUE(database) << database.error().message();
  EXPECT_FALSE(database->IsEmpty("t"));
  std::filesystem::remove(path);
}

std::string ManyRows() {
  TestDatabase made;
  EXPECT_EQ(made.Run("PRAGMA page_size=4096; CREATE TABLE t (a);"
                     "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 2000)"
                     "INSERT INTO t SELECT i FROM n"),
            "");
  return made.Bytes();
}

std::int64_t CountRows(const SqliteDatabase& database, std::string& damage) {
  TableScan scan = database.Scan("t", kColumns);
  std::int64_t rows = 0;
  while (scan.Next()) {
    EXPECT_EQ(scan.Integer(0), ++rows);
  }
  damage = scan.damage();
  return rows;
}

TEST(SqliteDatabaseTest, ACutFileGivesTheRowsBeforeTheCut) {
  std::string bytes = ManyRows();
  bytes.resize(bytes.size() / 2 + 100);
  const auto database = OpenBytes(bytes);
  ASSERT_TRUE(database) << database.error().message();

  std::string damage;
  const std::int64_t rows = CountRows(*database, damage);

  EXPECT_EQ(database->damage(), "the file is truncated");
  EXPECT_GT(rows, 100);
  EXPECT_LT(rows, 2000);
  EXPECT_NE(damage, "");
}

TEST(SqliteDatabaseTest, ADamagedPageEndsThePassWithAReason) {
  std::string bytes = ManyRows();
  bytes.replace(4096 * 5, 4096, 4096, '\xFF');
  const auto database = OpenBytes(bytes);
  ASSERT_TRUE(database);

  std::string damage;
  const std::int64_t rows = CountRows(*database, damage);

  EXPECT_GT(rows, 0);
  EXPECT_LT(rows, 2000);
  EXPECT_NE(damage, "");
}

// The root of the table (page 2) lists its leaves; pointing all of them at the first makes every
// leaf the same one. The pass may repeat rows, but it must end.
TEST(SqliteDatabaseTest, PagesThatReferToEachOtherDoNotGiveRowsForEver) {
  std::string bytes = ManyRows();
  const std::size_t root = 4096;
  ASSERT_EQ(bytes[root], 5) << "page 2 is an inner page";
  // The right-most child of the root becomes the root itself.
  bytes.replace(root + 8, 4, std::string("\0\0\0\2", 4));
  const auto database = OpenBytes(bytes);
  ASSERT_TRUE(database);

  TableScan scan = database->Scan("t", kColumns);
  std::size_t rows = 0;
  while (scan.Next()) {
    ++rows;
  }

  EXPECT_LE(rows, bytes.size());
  EXPECT_NE(scan.damage(), "");
}

TEST(SqliteDatabaseTest, BytesThatOnlyBeginLikeADatabaseAreRefused) {
  std::string bytes("SQLite format 3\0", 16);
  EXPECT_FALSE(OpenBytes(bytes));
  bytes.resize(4096, 'x');
  EXPECT_FALSE(OpenBytes(bytes));
}

}  // namespace
}  // namespace orrery::ingest
