#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/ingest/database_test.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/registry.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/problems.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::rocprofv3 {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using trace::MemoryClass;

Result<FileContent> ReadBytes(std::string_view bytes) {
  ORRERY_TRY(const InputFile file, InputFile::FromMemory("908_results.db", bytes));
  EXPECT_TRUE(kFormat.matches(file));
  return kFormat.Read(file, {});
}

std::string BytesOf(const std::string& statements) {
  TestDatabase made;
  EXPECT_EQ(made.Run(statements), "");
  return made.Bytes();
}

trace::Trace ReadStatements(const std::string& statements) {
  auto content = ReadBytes(BytesOf(statements));
  EXPECT_TRUE(content) << content.error().message();
  return content ? std::move(content->traces.at(0)) : trace::Trace();
}

std::int64_t CountOf(const trace::Trace& trace, std::string_view what) {
  for (const trace::Problem& problem : trace.problems.all()) {
    if (problem.what.find(what) != std::string::npos) {
      return problem.count;
    }
  }
  return 0;
}

// Tables of the third schema that records refer to. Agent 7 of the database is number 2 of the
// machine; symbol 17 has no formatted name.
constexpr std::string_view kNames = R"sql(
  CREATE TABLE rocpd_metadata_x (id INTEGER PRIMARY KEY, tag, value);
  INSERT INTO rocpd_metadata_x VALUES (1, 'schema_version', '3');
  CREATE TABLE rocpd_string_x (id INTEGER PRIMARY KEY, string);
  INSERT INTO rocpd_string_x VALUES (1, 'MEMORY_COPY_DEVICE_TO_HOST'), (2, 'hipLaunchKernel'),
    (3, 'HIP_RUNTIME_API'), (4, 'roctxRangePushA'), (5, 'MARKER_CORE_API');
  CREATE TABLE rocpd_info_agent_x (id INTEGER PRIMARY KEY, type, logical_index, name, product_name);
  INSERT INTO rocpd_info_agent_x VALUES (1, 'CPU', 0, 'EPYC', ''),
    (7, 'GPU', 2, 'gfx950', 'AMD Instinct MI350X');
  CREATE TABLE rocpd_info_kernel_symbol_x (id INTEGER PRIMARY KEY, kernel_name, display_name,
    arch_vgpr_count);
  INSERT INTO rocpd_info_kernel_symbol_x VALUES (16, '_Z3addv', 'add()', 24), (17, 'gemm', '', 8);
  CREATE TABLE rocpd_event_x (id INTEGER PRIMARY KEY, category_id, stack_id, extdata);
  INSERT INTO rocpd_event_x VALUES (1, 3, 12, '{}'), (2, NULL, 12, '{}'),
    (3, 5, 13, '{"message": "step 1"}');
)sql";

std::string WithNames(std::string_view statements) {
  return std::string(kNames) + std::string(statements);
}

TEST(RocpdTest, RowsOfTheThirdSchemaHaveTimesAndPlaces) {
  const trace::Trace trace = ReadStatements(WithNames(R"sql(
    CREATE TABLE rocpd_kernel_dispatch_x (id, agent_id, kernel_id, queue_id, stream_id, start, "end",
      group_segment_size, workgroup_size_x, workgroup_size_y, workgroup_size_z, grid_size_x,
      grid_size_y, grid_size_z, event_id);
    INSERT INTO rocpd_kernel_dispatch_x VALUES (1, 7, 16, 3, 5, 300, 340, 512, 256, 1, 1, 1000, 2, 1, 2),
      (2, 7, 17, 3, NULL, 350, 360, 0, 64, 1, 1, 64, 1, 1, NULL),
      (3, 7, 99, 3, 5, 370, 380, 0, 64, 1, 1, 64, 1, 1, NULL),
      (4, 7, 16, 3, 5, 390, 380, 0, 64, 1, 1, 64, 1, 1, NULL);
    CREATE TABLE rocpd_region_x (id, pid, tid, start, "end", name_id, event_id);
    INSERT INTO rocpd_region_x VALUES (1, 908, 15, 280, 290, 2, 1), (2, 908, 15, 100, 500, 4, 3);
    CREATE TABLE rocpd_memory_copy_x (id, start, "end", name_id, dst_agent_id, src_agent_id, size,
      stream_id, event_id);
    INSERT INTO rocpd_memory_copy_x VALUES (1, 400, 420, 1, 1, 7, 4096, 5, NULL);
  )sql"));

  EXPECT_EQ(trace.info.format_version, "3");
  ASSERT_EQ(trace.activities.size(), 4U);
  EXPECT_EQ(trace.Text(trace.activities.name[0]), "add()");
  EXPECT_EQ(trace.Text(trace.activities.name[1]), "gemm");
  EXPECT_EQ(trace.Text(trace.activities.name[2]), "kernel 99");
  EXPECT_EQ(CountOf(trace, "whose name is not in the file"), 1);
  EXPECT_EQ(CountOf(trace, "without a usable time"), 1);  // one that ends before it begins
  EXPECT_EQ(trace.launch_shapes.grid_x.at(0), 4);         // 1000 work-items in groups of 256
  EXPECT_EQ(trace.launch_shapes.registers_per_thread[0], 24);
  EXPECT_EQ(trace.tracks.thread[trace.activities.track[0]], 5);
  EXPECT_EQ(trace.tracks.thread[trace.activities.track[1]], 3);  // the queue, for want of a stream
  EXPECT_EQ(trace.tracks.device[trace.activities.track[0]], 2);
  EXPECT_EQ(trace.activities.copy_kind[3], trace::CopyKind::kDeviceToHost);
  EXPECT_EQ(trace.activities.bytes[3], 4096);
  ASSERT_EQ(trace.runtime_calls.size(), 2U);
  EXPECT_EQ(trace.Text(trace.runtime_calls.name[0]), "step 1");  // the marker's text
  EXPECT_EQ(trace.Text(trace.runtime_calls.name[1]), "hipLaunchKernel");
  EXPECT_EQ(trace.activities.launch[0], 1U);  // found by the number of the call
}

// Frees name only an address and no agent, as in the tables of other forms.
TEST(RocpdTest, FreesAreResolvedByAddress) {
  const trace::Trace trace = ReadStatements(WithNames(R"sql(
    CREATE TABLE rocpd_memory_allocate_x (id, agent_id, type, level, start, "end", address, size);
    INSERT INTO rocpd_memory_allocate_x VALUES (1, 7, 'ALLOC', 'REAL', 100, 110, 4096, 5368709120),
      (2, NULL, 'FREE', 'REAL', 200, 210, 4096, 0), (3, NULL, 'FREE', 'REAL', 220, 230, 0, 0),
      (4, 1, 'ALLOC', 'REAL', 240, 250, 8192, 64), (5, 7, 'ALLOC', 'VIRTUAL', 260, 270, 8192, 128),
      (6, 7, 'ALLOC', 'SCRATCH', 280, 290, 1, 64), (7, 7, 'RECLAIM', 'REAL', 280, 290, 1, 64),
      (8, 7, 'ALLOC', 'REAL', 280, 290, -5, 64);
  )sql"));

  EXPECT_THAT(trace.memory_objects.begin_ns, ElementsAre(110, 250, 270));
  EXPECT_THAT(trace.memory_objects.duration_ns, ElementsAre(90, -1, -1));
  EXPECT_THAT(trace.memory_objects.bytes, ElementsAre(5368709120, 64, 128));
  EXPECT_THAT(trace.memory_objects.memory_class,
              ElementsAre(MemoryClass::kDevice, MemoryClass::kPinned, MemoryClass::kDevice));
  EXPECT_EQ(CountOf(trace, "free of address 0"), 1);
  EXPECT_EQ(CountOf(trace, "not imported"), 1);
  EXPECT_EQ(CountOf(trace, "unknown memory operation"), 1);
  EXPECT_EQ(CountOf(trace, "without a usable address"), 1);
}

TEST(RocpdTest, LaterSchemasReferToTimesAndTracks) {
  const trace::Trace trace = ReadStatements(WithNames(R"sql(
    CREATE TABLE rocpd_timestamp_x (id INTEGER PRIMARY KEY, value);
    INSERT INTO rocpd_timestamp_x VALUES (1, 300), (2, 340);
    CREATE TABLE rocpd_track_x (id INTEGER PRIMARY KEY, pid, tid, agent_id, queue_id, stream_id);
    INSERT INTO rocpd_track_x VALUES (4, 908, 15, 7, 3, 5);
    CREATE TABLE rocpd_kernel_dispatch_x (id, track_id, kernel_id, start_id, end_id);
    INSERT INTO rocpd_kernel_dispatch_x VALUES (1, 4, 16, 1, 2), (2, 4, 16, 1, 77);
  )sql"));

  EXPECT_THAT(trace.activities.begin_ns, ElementsAre(300));
  EXPECT_THAT(trace.activities.duration_ns, ElementsAre(40));
  EXPECT_EQ(trace.tracks.device[trace.activities.track[0]], 2);
  EXPECT_EQ(trace.tracks.thread[trace.activities.track[0]], 5);
  EXPECT_EQ(CountOf(trace, "without a usable time"), 1);  // time 77 is not there
}

TEST(RocpdTest, EachRecordingOfAMergedDatabaseIsATrace) {
  const auto content = ReadBytes(BytesOf(
      "CREATE TABLE rocpd_region_a (start, \"end\"); INSERT INTO rocpd_region_a VALUES (1, 2);"
      "CREATE TABLE rocpd_memory_copy_a (start, \"end\");"
      "CREATE TABLE rocpd_region_b (start, \"end\");"));

  ASSERT_TRUE(content) << content.error().message();
  ASSERT_EQ(content->traces.size(), 2U);
  EXPECT_EQ(content->traces[0].runtime_calls.size(), 1U);
  EXPECT_EQ(content->traces[1].runtime_calls.size(), 0U);
}

// Views of the names that rocpd uses are programs of the file and are not run.
TEST(RocpdTest, ViewsAreNotRead) {
  const auto content =
      ReadBytes(BytesOf("CREATE TABLE rocpd_string_x (id, string);"
                        "CREATE VIEW rocpd_kernel_dispatch_x AS SELECT 1 AS start, 2 AS \"end\";"));

  ASSERT_FALSE(content);
  EXPECT_THAT(content.error().message(),
              HasSubstr("908_results.db: a rocpd database without a table of kernels, copies, "
                        "allocations or calls"));
  EXPECT_THAT(content.error().message(), HasSubstr("rocpd convert -f csv"));
}

TEST(RocpdTest, TablesWithoutTimesAreRefused) {
  const auto content = ReadBytes(BytesOf("CREATE TABLE rocpd_region_x (id, begin_ns, end_ns);"));

  ASSERT_FALSE(content);
  EXPECT_THAT(content.error().message(),
              HasSubstr("table rocpd_region_x: neither times (start, end) nor numbers of times"));
}

TEST(RocpdTest, ADatabaseThatIsCutKeepsWhatIsThere) {
  std::string statements(kNames);
  statements += "CREATE TABLE rocpd_region_x (start, \"end\", name_id);";
  for (int i = 0; i < 2000; ++i) {
    statements += "INSERT INTO rocpd_region_x VALUES (" + std::to_string(i) + ", 9999, 2);";
  }
  const std::string bytes = BytesOf(statements);

  const auto content = ReadBytes(std::string_view(bytes).substr(0, bytes.size() * 3 / 4));

  ASSERT_TRUE(content) << content.error().message();
  const trace::Trace& trace = content->traces.at(0);
  EXPECT_GT(trace.runtime_calls.size(), 0U);
  EXPECT_LT(trace.runtime_calls.size(), 2000U);
  EXPECT_EQ(CountOf(trace, "the SQLite database is incomplete"), 1);
  EXPECT_TRUE(trace.problems.has_loss());
}

TEST(RocpdTest, OtherDatabasesAreLeftAlone) {
  const std::string bytes = BytesOf("CREATE TABLE t (a);");

  EXPECT_FALSE(kFormat.matches(*InputFile::FromMemory("a.db", bytes)));
}

}  // namespace
}  // namespace orrery::ingest::rocprofv3
