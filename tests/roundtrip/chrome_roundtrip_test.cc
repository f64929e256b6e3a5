// Kineto file -> Trace -> Chrome JSON -> Trace: nothing that matters may change.

#include <filesystem>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/base/file/byte_sink.h"
#include "orrery/export/chrome_json.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/registry.h"
#include "orrery/trace/trace_set.h"
#include "test_paths.h"

namespace orrery {
namespace {

using trace::Trace;

// A set with the one rank of a file.
trace::TraceSet Read(const ingest::InputFile& file) {
  trace::TraceSet set;
  for (const ingest::Format* format : ingest::KnownFormats()) {
    if (format->name == "Kineto JSON") {
      EXPECT_TRUE(format->matches(file)) << file.path();
      set.ranks = std::move(format->Read(file, {}).value().traces);
    }
  }
  EXPECT_EQ(set.ranks.size(), 1U) << file.path();
  return set;
}

trace::TraceSet ReadPath(const std::string& path) {
  return Read(ingest::InputFile::Open(path).value());
}

trace::TraceSet ReadText(std::string_view text) {
  return Read(ingest::InputFile::FromMemory("test.json", text).value());
}

std::string Exported(const trace::TraceSet& set) {
  MemorySink sink;
  EXPECT_TRUE(exporting::WriteChromeJson(set, {}, sink));
  return sink.bytes();
}

auto TrackOf(const Trace& trace, RowId row) {
  return row == kNoRow ? std::tuple(trace::TrackKind::kOther, std::int64_t{0}, std::int64_t{0}, 0)
                       : std::tuple(trace.tracks.kind[row], trace.tracks.process[row],
                                    trace.tracks.thread[row], trace.tracks.device[row]);
}

template <typename Table>
bool RowsAreEqual(const Trace& a, const Table& table_a, RowId row_a, const Trace& b,
                  const Table& table_b, RowId row_b, std::string& difference);

// One value, so that it can be compared between traces: strings as text, and what is shared
// between rows by content.
template <typename T>
bool ValuesAreEqual(const Trace& a, const Trace& b, std::string_view column, T x, T y) {
  if constexpr (std::is_same_v<T, StringId>) {
    return a.Text(x) == b.Text(y);
  } else if constexpr (std::is_same_v<T, RowId>) {
    if (column == "track") {
      return TrackOf(a, x) == TrackOf(b, y);
    }
    if (column == "shape" && x != kNoRow && y != kNoRow) {
      std::string difference;
      return RowsAreEqual(a, a.launch_shapes, x, b, b.launch_shapes, y, difference);
    }
    return x == y;
  } else {
    return x == y;
  }
}

// Adds the names of the columns that differ to `difference`.
template <typename Table>
bool RowsAreEqual(const Trace& a, const Table& table_a, RowId row_a, const Trace& b,
                  const Table& table_b, RowId row_b, std::string& difference) {
  const auto compare = [&](const char* name, const auto& x, const auto& y) {
    if (!ValuesAreEqual(a, b, name, x[row_a], y[row_b])) {
      difference += std::string(" ") + name;
    }
  };
  Table::VisitColumns(compare, table_a, table_b);
  return difference.empty();
}

template <typename Table>
void ExpectSameRows(const char* name, const Trace& a, const Table& table_a, const Trace& b,
                    const Table& table_b) {
  ASSERT_EQ(table_a.size(), table_b.size()) << name;
  int num_failures = 0;
  for (RowId row = 0; row < table_a.size() && num_failures < 5; ++row) {
    std::string difference;
    const bool equal = RowsAreEqual(a, table_a, row, b, table_b, row, difference);
    EXPECT_TRUE(equal) << name << " row " << row << " differs in" << difference;
    num_failures += equal ? 0 : 1;
  }
}

void ExpectSameTrace(const Trace& a, const Trace& b) {
  ExpectSameRows("activities", a, a.activities, b, b.activities);
  ExpectSameRows("host_ops", a, a.host_ops, b, b.host_ops);
  ExpectSameRows("runtime_calls", a, a.runtime_calls, b, b.runtime_calls);
  ExpectSameRows("annotations", a, a.annotations, b, b.annotations);
  ExpectSameRows("python_calls", a, a.python_calls, b, b.python_calls);
  ExpectSameRows("syncs", a, a.syncs, b, b.syncs);
  ExpectSameRows("memory_events", a, a.memory_events, b, b.memory_events);
  ExpectSameRows("collectives", a, a.collectives, b, b.collectives);
  ExpectSameRows("steps", a, a.steps, b, b.steps);
  ExpectSameRows("devices", a, a.devices, b, b.devices);
  ExpectSameRows("instants", a, a.instants, b, b.instants);
  ExpectSameRows("other_slices", a, a.other_slices, b, b.other_slices);
  EXPECT_EQ(a.info.rank, b.info.rank);
  EXPECT_EQ(a.info.world_size, b.info.world_size);
  EXPECT_EQ(a.info.backend, b.info.backend);
  EXPECT_EQ(a.info.time_origin, b.info.time_origin);
}

void ExpectRoundTrip(const trace::TraceSet& before) {
  const std::string first = Exported(before);
  const trace::TraceSet after = ReadText(first);
  ExpectSameTrace(before.ranks[0], after.ranks[0]);
  // The parts that the export adds are derived again and do not pile up.
  const std::string second = Exported(after);
  EXPECT_TRUE(second == Exported(ReadText(second)));
}

// One event of each kind, a stream and a thread whose rows overlap, and a collective.
TEST(ChromeRoundTripTest, EveryColumnOfASmallFileComesBack) {
  const trace::TraceSet before =
      ReadPath(std::string(ORRERY_TEST_DATA) + "/export/small.kineto.json");
  // The file is what it should be, or the comparison would compare nothing.
  const Trace& trace = before.ranks[0];
  EXPECT_EQ(trace.activities.size(), 4U);
  EXPECT_EQ(trace.host_ops.size(), 3U);
  EXPECT_EQ(trace.collectives.size(), 1U);
  ExpectRoundTrip(before);
}

TEST(ChromeRoundTripTest, ARecordedRunComesBack) {
  ExpectRoundTrip(ReadPath(std::string(ORRERY_TEST_DATA) + "/h200/fake-tp8.kineto.json.gz"));
}

class SharedTrace : public ::testing::TestWithParam<const char*> {};

TEST_P(SharedTrace, ComesBack) {
  const std::string path = std::string(ORRERY_SHARED) + "/traces/" + GetParam();
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << "no shared traces beside the repository";
  }
  ExpectRoundTrip(ReadPath(path));
}

INSTANTIATE_TEST_SUITE_P(
    ChromeRoundTripTest, SharedTrace,
    ::testing::Values("h200/gpt2-small-b4.kineto.json.gz", "h200/gpt2-xl-b8.kineto.json.gz",
                      "h200/fake-fsdp64.kineto.json.gz",
                      "tracelens/mi300/ddp_resnet18_no_pool/train_resnet18.json.gz",
                      "hta/mtia_inference_trace/mtia_inference_rank_0.json.gz",
                      "astra-sim/megatron-tp8/megatron_kineto_0.json.gz"));

}  // namespace
}  // namespace orrery
