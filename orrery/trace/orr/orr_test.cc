#include "orrery/trace/orr/orr.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/base/string_table.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/orr/layout.h"
#include "orrery/trace/orr/value_rules.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::trace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Small, so that columns of a test have several blocks.
constexpr std::uint32_t kRowsPerBlock = 64;

// Fills every column of every table, also those that are added after this test was written.
class RandomTraces {
 public:
  explicit RandomTraces(std::uint64_t seed) : random_(seed) {}

  TraceSet Set(std::size_t num_ranks) {
    TraceSet set;
    for (std::size_t rank = 0; rank < num_ranks; ++rank) {
      set.ranks.push_back(OneRank(static_cast<std::int32_t>(rank)));
    }
    set.card = WorkloadCard{.file = "card.yaml", .values = {{"model.name", "m"}, {"n", ""}}};
    set.problems.Note("of the set", 3, "somewhere");
    return set;
  }

 private:
  Trace OneRank(std::int32_t rank) {
    Trace trace;
    trace.info = {.rank = rank,
                  .world_size = 4,
                  .format = "Kineto JSON",
                  .format_version = "1",
                  .producer = "a tool",
                  .host_name = "host",
                  .backend = "nccl",
                  .time_origin = TimeOrigin::kEpoch,
                  .files = {"a.json", "b.json"}};
    trace.problems.Loss("lost", 2, "byte 7");
    trace.problems.Note("noted", 1);
    for (std::uint64_t i = 0; i < 500; ++i) {
      trace.strings.Intern(std::to_string(i) + std::string(Below(40), 'x'));
    }
    std::map<std::string, std::uint64_t> num_rows;
    ForEachTable(trace, [&](const char* name, const auto&) { num_rows[name] = 1 + Below(300); });
    ForEachTable(trace, [&](const char* name, auto& table) {
      ForEachColumn(table, [&]<typename T>(const char* column_name, std::vector<T>& column) {
        const std::uint64_t num_targets = NumTargets<T>(name, column_name, trace, num_rows);
        const int shape = static_cast<int>(Below(4));
        for (std::uint64_t row = 0; row < num_rows[name]; ++row) {
          column.push_back(Value<T>(row, shape, num_targets));
        }
      });
    });
    return trace;
  }

  template <typename T>
  static std::uint64_t NumTargets(const char* table, const char* column, const Trace& trace,
                                  const std::map<std::string, std::uint64_t>& num_rows) {
    if constexpr (std::is_same_v<T, StringId>) {
      return trace.strings.size();
    } else if constexpr (std::is_same_v<T, RowId>) {
      return num_rows.at(std::string(orr::LinkTarget(table, column)));
    } else if constexpr (std::is_enum_v<T>) {
      return orr::NumEnumerators<T>();
    }
    return 0;
  }

  // Shapes of columns: one value, steps, few different values, noise.
  template <typename T>
  T Value(std::uint64_t row, int shape, std::uint64_t num_targets) {
    const std::uint64_t wide = shape == 0   ? 77
                               : shape == 1 ? row * 1'000'003
                               : shape == 2 ? Below(9)
                                            : random_();
    if constexpr (std::is_same_v<T, RowId>) {
      return wide % 5 == 0 ? kNoRow : static_cast<RowId>(wide % num_targets);
    } else if constexpr (std::is_enum_v<T>) {
      return static_cast<T>(wide % num_targets);
    } else if constexpr (std::is_same_v<T, double>) {
      return static_cast<double>(wide) / 3;
    } else {
      return static_cast<T>(wide);
    }
  }

  std::uint64_t Below(std::uint64_t limit) { return random_() % limit; }

  std::mt19937_64 random_;
};

std::string TestPath() {
  const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
  return ::testing::TempDir() + "orr_test_" + test->name() + ".orr";
}

std::string FileBytes(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string Written(const TraceSet& set, int threads = 2) {
  const std::string path = TestPath();
  const auto status = WriteOrr(set, path, {.threads = threads, .rows_per_block = kRowsPerBlock});
  EXPECT_TRUE(status) << status.error().message();
  std::string bytes = FileBytes(path);
  std::filesystem::remove(path);
  return bytes;
}

std::string ErrorOf(std::string_view bytes) {
  const auto set = ReadOrrBytes(bytes, {.threads = 2});
  return set ? "" : set.error().message();
}

// Takes a container apart, lets `change` edit its directory, and closes it again with a checksum
// that fits.
template <typename Change>
std::string WithDirectory(const std::string& file, Change&& change) {
  const auto bytes = orr::OpenEnvelope(file);
  EXPECT_TRUE(bytes);
  const auto offset = static_cast<std::size_t>(bytes->data() - file.data());
  auto directory = orr::DecodeDirectory(*bytes);
  EXPECT_TRUE(directory);
  change(*directory);
  return file.substr(0, offset) + orr::Closing(offset, orr::EncodeDirectory(*directory));
}

orr::ColumnEntry& Column(orr::Directory& directory, std::string_view table_name,
                         std::string_view column_name) {
  for (orr::TableEntry& table : directory.ranks.at(0).tables) {
    for (orr::ColumnEntry& column : table.columns) {
      if (table.name == table_name && column.name == column_name) {
        return column;
      }
    }
  }
  ADD_FAILURE() << "no such column";
  return directory.ranks.at(0).tables.at(0).columns.at(0);
}

TEST(OrrTest, EveryTableAndColumnComesBack) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const TraceSet set = RandomTraces(seed).Set(seed - 1);
    const std::string bytes = Written(set);

    for (const int threads : {1, 2}) {
      const auto read = ReadOrrBytes(bytes, {.threads = threads});
      ASSERT_TRUE(read) << read.error().message();
      EXPECT_EQ(*read, set) << "seed " << seed;
    }
  }
}

std::string WrittenSmallest(const TraceSet& set) {
  const std::string path = TestPath();
  const auto status = WriteOrr(set, path, {.rows_per_block = kRowsPerBlock, .smallest = true});
  EXPECT_TRUE(status) << status.error().message();
  std::string bytes = FileBytes(path);
  std::filesystem::remove(path);
  return bytes;
}

TEST(OrrTest, TheSmallestContainerHoldsTheSame) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const TraceSet set = RandomTraces(seed).Set(seed - 1);
    const std::string bytes = WrittenSmallest(set);

    const auto read = ReadOrrBytes(bytes);
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(*read, set) << "seed " << seed;
    EXPECT_LT(bytes.size(), Written(set).size());
  }
}

TEST(OrrTest, EveryCutOfTheSmallestContainerIsRefused) {
  const std::string bytes = WrittenSmallest(RandomTraces(1).Set(0));
  for (std::size_t size = 0; size < bytes.size(); size += 97) {
    EXPECT_FALSE(ReadOrrBytes(std::string_view(bytes).substr(0, size))) << size;
  }
}

// Such a directory has a checksum that holds and is no frame of zstd.
TEST(OrrTest, ADamagedPackedDirectoryIsRefused) {
  std::string packed = orr::PackDirectory(orr::EncodeDirectory({.rows_per_block = 1}));
  packed.back() = static_cast<char>(packed.back() ^ 1);
  packed.resize(packed.size() - 1);

  EXPECT_THAT(ErrorOf(orr::Header(2) + orr::Closing(orr::kHeaderBytes, packed, 2)),
              StartsWith("directory: "));
}

TEST(OrrTest, AnEmptySetAndAnEmptyRankComeBack) {
  TraceSet set;
  EXPECT_EQ(*ReadOrrBytes(Written(set)), set);

  set.ranks.emplace_back();
  EXPECT_EQ(*ReadOrrBytes(Written(set)), set);
}

TEST(OrrTest, BytesDoNotDependOnTheNumberOfThreads) {
  const TraceSet set = RandomTraces(7).Set(3);
  const std::string one = Written(set, 1);

  EXPECT_EQ(one, Written(set, 2));
  EXPECT_EQ(one, Written(set, 5));
}

TEST(OrrTest, StringsOfAContainerCanBeFoundAndExtended) {
  TraceSet set;
  set.ranks.emplace_back().strings.Intern("first");
  auto read = ReadOrrBytes(Written(set));
  ASSERT_TRUE(read);

  EXPECT_EQ(read->ranks[0].strings.Find("first"), StringId{1});
  EXPECT_EQ(read->ranks[0].strings.Intern("second"), StringId{2});
}

TEST(OrrTest, ContainersAreRecognisedByTheirFirstBytes) {
  EXPECT_TRUE(IsOrr(Written({})));
  EXPECT_FALSE(IsOrr("{\"traceEvents\": []}"));
  EXPECT_FALSE(IsOrr(""));
}

TEST(OrrTest, WritingReplacesTheFileAndLeavesNothingElse) {
  const std::string folder = TestPath() + ".d";
  std::filesystem::create_directory(folder);
  const std::string path = folder + "/run.orr";
  std::ofstream(path) << "old";

  ASSERT_TRUE(WriteOrr(RandomTraces(1).Set(1), path));

  EXPECT_TRUE(ReadOrr(path));
  const auto entries = std::filesystem::directory_iterator(folder);
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1);
  std::filesystem::remove_all(folder);
}

TEST(OrrTest, AFolderThatDoesNotExistIsNamed) {
  const auto status = WriteOrr({}, "/no/such/folder/run.orr");

  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message(),
            "/no/such/folder/run.orr: cannot create: No such file or directory");
}

TEST(OrrTest, ErrorsNameTheFile) {
  const std::string path = TestPath();
  std::ofstream(path) << "not a container";

  const auto read = ReadOrr(path);

  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message(),
            path + ": not an Orrery container: it does not begin with the magic bytes of one");
  std::filesystem::remove(path);
}

TEST(OrrTest, ANewerContainerAsksForAnUpdate) {
  std::string bytes = Written({});
  bytes[8] = 3;

  EXPECT_EQ(ErrorOf(bytes),
            "written by a newer Orrery (container version 3, this program reads 2): update "
            "Orrery");
}

// Every bit counts: header, blocks, directory and footer are all covered by a checksum.
TEST(OrrTest, AFlippedBitAnywhereIsNoticed) {
  const std::string bytes = Written(RandomTraces(3).Set(1));
  ASSERT_GT(bytes.size(), 1000U);
  const std::size_t step = bytes.size() / 1000;

  for (std::size_t at = 0; at < bytes.size(); at += at < 64 ? 1 : step) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ 4);
    EXPECT_NE(ErrorOf(flipped), "") << "byte " << at;
  }
}

TEST(OrrTest, AFlippedBitInTheFooterIsNoticed) {
  const std::string bytes = Written(RandomTraces(3).Set(1));

  for (std::size_t at = bytes.size() - 32; at < bytes.size(); ++at) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    EXPECT_THAT(ErrorOf(flipped), HasSubstr("copy it again")) << "byte " << at;
  }
}

TEST(OrrTest, ACutContainerIsNoticedWhereverItIsCut) {
  const std::string bytes = Written(RandomTraces(4).Set(2));

  for (std::size_t part = 0; part < 64; ++part) {
    EXPECT_NE(ErrorOf(std::string_view(bytes).substr(0, bytes.size() * part / 64)), "") << part;
  }
  EXPECT_THAT(ErrorOf(std::string_view(bytes).substr(0, bytes.size() - 1)),
              StartsWith("the container ends early, without its directory"));
  EXPECT_THAT(ErrorOf(std::string_view(bytes).substr(0, 10)),
              StartsWith("the container ends inside its header"));
}

TEST(OrrTest, ADamagedBlockIsNamed) {
  TraceSet set;
  Trace& trace = set.ranks.emplace_back();
  for (std::int64_t i = 0; i < std::int64_t{2} * kRowsPerBlock; ++i) {
    trace.host_ops.Append({.begin_ns = i * i * i % 1009});
  }
  std::string bytes = Written(set);
  std::uint64_t offset = 0;
  WithDirectory(bytes, [&](orr::Directory& directory) {
    offset = Column(directory, "host_ops", "begin_ns").blocks.at(1).offset;
  });
  bytes[offset] = static_cast<char>(bytes[offset] ^ 1);

  EXPECT_EQ(ErrorOf(bytes),
            "rank 0, table host_ops, column begin_ns, block 1: its checksum does not match: the "
            "file is damaged; copy it again, or convert the original recording again");
}

TEST(OrrTest, ColumnsAndTablesOfANewerWriterAreSkippedAndCounted) {
  TraceSet set = RandomTraces(6).Set(1);
  const std::string bytes = WithDirectory(Written(set), [](orr::Directory& directory) {
    auto& tables = directory.ranks[0].tables;
    tables[0].columns.push_back({.name = "mood", .kind = static_cast<orr::ValueKind>(99)});
    tables[1].columns.insert(tables[1].columns.begin(), {.name = "taste"});
    tables.push_back({.name = "dreams", .num_rows = std::uint64_t{1} << 60});
  });

  const auto read = ReadOrrBytes(bytes);

  ASSERT_TRUE(read) << read.error().message();
  set.ranks[0].problems.Loss("column that a newer Orrery wrote, skipped", 2, "metadata.mood");
  set.ranks[0].problems.Loss("table that a newer Orrery wrote, skipped", 1, "dreams");
  EXPECT_EQ(*read, set);
}

TEST(OrrTest, ColumnsThatAnOlderWriterDidNotHaveGetTheirDefault) {
  const TraceSet set = RandomTraces(6).Set(1);
  const std::string bytes = WithDirectory(Written(set), [](orr::Directory& directory) {
    Column(directory, "activities", "correlation").name = "an old name";
  });

  const auto read = ReadOrrBytes(bytes);

  ASSERT_TRUE(read) << read.error().message();
  const Activities& activities = read->ranks[0].activities;
  EXPECT_EQ(activities.begin_ns, set.ranks[0].activities.begin_ns);
  EXPECT_EQ(activities.correlation, std::vector<std::int64_t>(activities.size(), -1));
  EXPECT_EQ(read->ranks[0].problems.all()[2].first, "activities.correlation");
}

TEST(OrrTest, BytesThatANewerWriterAppendsToTheDirectoryAreCounted) {
  const std::string bytes = Written({});
  const auto directory = orr::OpenEnvelope(bytes);
  ASSERT_TRUE(directory);

  const auto read = ReadOrrBytes(
      orr::Header() + orr::Closing(orr::kHeaderBytes, std::string(*directory) + "later"));

  ASSERT_TRUE(read) << read.error().message();
  ASSERT_EQ(read->problems.all().size(), 1U);
  EXPECT_EQ(read->problems.all()[0].count, 5);
}

TEST(OrrTest, AColumnOfAnotherKindIsRefused) {
  const auto bytes = WithDirectory(Written(RandomTraces(8).Set(1)), [](orr::Directory& directory) {
    Column(directory, "counters", "value").kind = orr::ValueKind::kInt64;
  });

  EXPECT_THAT(ErrorOf(bytes), StartsWith("rank 0, table counters, column value: it holds values of "
                                         "kind 0 instead of 4"));
}

TEST(OrrTest, AColumnShorterThanItsTableIsRefused) {
  const auto bytes = WithDirectory(Written(RandomTraces(8).Set(1)), [](orr::Directory& directory) {
    Column(directory, "counters", "value").blocks.pop_back();
  });

  EXPECT_THAT(ErrorOf(bytes), HasSubstr("column value: "));
}

TEST(OrrTest, ABlockOutsideTheFileIsRefused) {
  const auto bytes = WithDirectory(Written(RandomTraces(8).Set(1)), [](orr::Directory& directory) {
    Column(directory, "counters", "value").blocks.at(0).offset = ~std::uint64_t{0};
  });

  EXPECT_THAT(ErrorOf(bytes), HasSubstr("column value, block 0: lies outside the container"));
}

// Columns that the file does not have would be filled with defaults: the claim costs no bytes.
TEST(OrrTest, ATableLargerThanTheFileCanHoldIsNotAllocated) {
  TraceSet set;
  set.ranks.emplace_back().metadata.Append({});
  const auto bytes = WithDirectory(Written(set), [](orr::Directory& directory) {
    orr::TableEntry& table = directory.ranks[0].tables[0];
    table.num_rows = 4'000'000'000;
    table.columns.clear();
  });

  const auto read = ReadOrrBytes(bytes);

  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind(), Error::Kind::kLimit);
}

template <typename Break>
std::string ErrorOfBroken(Break&& breaking) {
  TraceSet set = RandomTraces(9).Set(1);
  breaking(set.ranks[0]);
  return ErrorOf(Written(set));
}

TEST(OrrTest, ALinkToARowThatDoesNotExistIsRefused) {
  const std::string error = ErrorOfBroken(
      [](Trace& trace) { trace.host_ops.track.front() = static_cast<RowId>(trace.tracks.size()); });

  EXPECT_THAT(error, StartsWith("rank 0, table host_ops, column track, block 0: "));
}

TEST(OrrTest, AStringThatDoesNotExistIsRefused) {
  const std::string error = ErrorOfBroken(
      [](Trace& trace) { trace.steps.name.front() = static_cast<StringId>(trace.strings.size()); });

  EXPECT_THAT(error, StartsWith("rank 0, table steps, column name, block 0: holds 501, and"));
}

TEST(OrrTest, AnUnknownEnumeratorIsRefused) {
  const std::string error =
      ErrorOfBroken([](Trace& trace) { trace.tracks.kind.front() = static_cast<TrackKind>(3); });

  EXPECT_THAT(error, AllOf(StartsWith("rank 0, table tracks, column kind, block 0: holds 3, and"),
                           HasSubstr("newer Orrery")));
}

TEST(OrrTest, StringsWhoseLengthsDoNotAddUpAreRefused) {
  TraceSet set;
  set.ranks.emplace_back().strings.Intern("four");
  const std::string bytes = Written(set);

  for (const std::uint64_t base : {std::uint64_t{1}, ~std::uint64_t{0}}) {
    const auto broken = WithDirectory(bytes, [&](orr::Directory& directory) {
      directory.ranks[0].strings.lengths[0].base = base;
    });
    EXPECT_THAT(ErrorOf(broken), StartsWith("rank 0, lengths of strings: "));
  }
}

}  // namespace
}  // namespace orrery::trace
