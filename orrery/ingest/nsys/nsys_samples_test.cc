#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <ostream>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/ingest/database_test.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/nsys/database_test.h"
#include "orrery/ingest/registry.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"
#include "test_paths.h"

// Public recordings; the counts are those of an independent query (the check counts of the format
// notes).

namespace orrery::ingest::nsys {
namespace {

using trace::ActivityKind;
using trace::Trace;

struct Counts {
  std::int64_t kernels = 0;
  std::int64_t copies = 0;
  std::int64_t sets = 0;
  std::int64_t calls = 0;
  std::int64_t syncs = 0;
  std::int64_t nvtx = 0;

  bool operator==(const Counts&) const = default;
};

void PrintTo(const Counts& counts, std::ostream* out) {
  *out << counts.kernels << " kernels, " << counts.copies << " copies, " << counts.sets << " sets, "
       << counts.calls << " calls, " << counts.syncs << " syncs, " << counts.nvtx << " NVTX";
}

std::int64_t CountActivities(const Trace& trace, ActivityKind kind) {
  return std::count(trace.activities.kind.begin(), trace.activities.kind.end(), kind);
}

Counts CountRows(const FileContent& content) {
  Counts counts;
  for (const Trace& trace : content.traces) {
    counts.kernels += CountActivities(trace, ActivityKind::kKernel);
    counts.copies += CountActivities(trace, ActivityKind::kMemcpy);
    counts.sets += CountActivities(trace, ActivityKind::kMemset);
    counts.calls += static_cast<std::int64_t>(trace.runtime_calls.size());
    counts.syncs +=
        static_cast<std::int64_t>(trace.syncs.size()) -
        std::count(trace.syncs.kind.begin(), trace.syncs.kind.end(), trace::SyncKind::kEventRecord);
    counts.nvtx += static_cast<std::int64_t>(trace.annotations.size() + trace.host_ops.size() +
                                             trace.instants.size());
  }
  return counts;
}

class NsysSampleTest : public testing::Test {
 protected:
  void Open(const std::string& name) {
    path_ = std::string(ORRERY_SHARED) + "/traces/" + name;
    if (!std::filesystem::exists(path_)) {
      GTEST_SKIP() << "the shared traces are not here: " << path_;
    }
    const auto file = InputFile::Open(path_);
    ASSERT_TRUE(file) << file.error().message();
    EXPECT_TRUE(kFormat.matches(*file));
    auto content = kFormat.Read(*file, {});
    ASSERT_TRUE(content) << content.error().message();
    content_ = *std::move(content);
    for (const Trace& trace : content_.traces) {
      EXPECT_FALSE(trace.problems.has_loss());
    }
  }

  // The number of rows by a query of its own; 0 if there is no such table. Compressed samples
  // cannot be opened by SQLite itself.
  std::int64_t CountByQuery(const std::string& table) const {
    sqlite3* connection = nullptr;
    sqlite3_open_v2(path_.c_str(), &connection, SQLITE_OPEN_READONLY, nullptr);
    sqlite3_stmt* statement = nullptr;
    sqlite3_prepare_v2(connection, ("SELECT count(*) FROM " + table).c_str(), -1, &statement,
                       nullptr);
    const bool has_row = statement != nullptr && sqlite3_step(statement) == SQLITE_ROW;
    const std::int64_t count = has_row ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_finalize(statement);
    sqlite3_close(connection);
    return count;
  }

  Counts CountAllByQuery() const {
    const std::string prefix = "CUPTI_ACTIVITY_KIND_";
    return {.kernels = CountByQuery(prefix + "KERNEL"),
            .copies = CountByQuery(prefix + "MEMCPY"),
            .sets = CountByQuery(prefix + "MEMSET"),
            .calls = CountByQuery(prefix + "RUNTIME"),
            .syncs = CountByQuery(prefix + "SYNCHRONIZATION"),
            .nvtx = CountByQuery("NVTX_EVENTS")};
  }

  std::string path_;
  FileContent content_;
};

TEST_F(NsysSampleTest, TwoProcessesWithADeviceEachAreTwoRanks) {
  ASSERT_NO_FATAL_FAILURE(Open("nsys-ai/mfu_2gpu_before.sqlite.gz"));
  if (IsSkipped()) {
    return;
  }

  EXPECT_EQ(CountRows(content_), (Counts{4010, 1020, 269, 7466, 366, 19118}));
  ASSERT_EQ(content_.traces.size(), 2U);
  EXPECT_EQ(CountActivities(content_.traces[0], ActivityKind::kKernel), 1993);
  EXPECT_EQ(CountActivities(content_.traces[1], ActivityKind::kKernel), 2017);
  for (std::size_t i = 0; i < 2; ++i) {
    const Trace& trace = content_.traces[i];
    EXPECT_EQ(trace.info.rank, static_cast<int>(i));
    EXPECT_EQ(trace.info.format_version, "3.25.0");
    EXPECT_EQ(trace.info.producer, "NVIDIA Nsight Systems 2026.2.1.210");
    EXPECT_EQ(trace.info.host_name, "host");
    EXPECT_EQ(trace.info.time_origin, trace::TimeOrigin::kEpoch);
  }
}

TEST_F(NsysSampleTest, EachSendRecvKernelIsACollectiveOfItsGroupCall) {
  ASSERT_NO_FATAL_FAILURE(Open("nsys-ai/mfu_2gpu_before.sqlite.gz"));
  if (IsSkipped()) {
    return;
  }

  for (const Trace& trace : content_.traces) {
    std::int64_t with_kernels = 0;
    std::int64_t with_call = 0;
    for (RowId row = 0; row < trace.collectives.size(); ++row) {
      if (trace.collectives.num_kernels[row] > 0) {
        ++with_kernels;
        EXPECT_EQ(trace.collectives.kind[row], CollectiveKind::kSendRecv);
        EXPECT_EQ(trace.collectives.num_kernels[row], 1);
        // Named after the first call of the group around the launch.
        with_call += trace.Text(trace.collectives.name[row]) == "ncclSend" ? 1 : 0;
      }
    }
    // The first kernel of the window was launched before it.
    EXPECT_EQ(with_call, 32);
    EXPECT_EQ(with_kernels, 33);
    EXPECT_EQ(trace.activities.size() -
                  static_cast<std::size_t>(std::count(trace.activities.collective.begin(),
                                                      trace.activities.collective.end(), kNoRow)),
              33U);
  }
}

TEST_F(NsysSampleTest, EmittedOperatorsAreHostOperatorsAndHoldTheLaunches) {
  ASSERT_NO_FATAL_FAILURE(Open("nsys-ai/mfu_2gpu_before.sqlite.gz"));
  if (IsSkipped()) {
    return;
  }

  // All ranges of the default domain (9,219 and 9,437) carry an op_id.
  EXPECT_EQ(content_.traces[0].host_ops.size(), 9219U);
  EXPECT_EQ(content_.traces[1].host_ops.size(), 9437U);
  EXPECT_EQ(content_.traces[0].annotations.size(), 224U);
  EXPECT_EQ(content_.traces[0].Text(content_.traces[0].annotations.domain[0]), "NCCL");
  const auto& activities = content_.traces[0].activities;
  const auto unlinked = std::count(activities.host_op.begin(), activities.host_op.end(), kNoRow);
  EXPECT_LT(unlinked, static_cast<std::int64_t>(activities.size()) / 10);
}

TEST_F(NsysSampleTest, AWindowOfOneSecondKeepsAllItsRows) {
  ASSERT_NO_FATAL_FAILURE(Open("nsys-ai/h100_2gpu_1s.sqlite.gz"));
  if (IsSkipped()) {
    return;
  }

  EXPECT_EQ(CountRows(content_), (Counts{3442, 904, 22, 5796, 244, 16782}));
  EXPECT_EQ(content_.traces.size(), 2U);
}

TEST_F(NsysSampleTest, ARunOnOneCardKnowsItsDevice) {
  ASSERT_NO_FATAL_FAILURE(Open("nsys-ai/mock.sqlite"));
  if (IsSkipped()) {
    return;
  }

  EXPECT_EQ(CountRows(content_), (Counts{2, 1, 0, 9, 1, 0}));
  EXPECT_EQ(CountRows(content_), CountAllByQuery());
  ASSERT_EQ(content_.traces.size(), 1U);
  const Trace& trace = content_.traces[0];
  ASSERT_EQ(trace.devices.size(), 1U);
  EXPECT_EQ(trace.Text(trace.devices.name[0]), "NVIDIA GeForce RTX 3080");
  EXPECT_EQ(trace.devices.multiprocessors[0], 68);
  EXPECT_EQ(trace.devices.compute_major[0], 8);
  EXPECT_EQ(trace.devices.compute_minor[0], 6);
  // 6 rows of CUPTI's overhead and 25 of the profiler's.
  EXPECT_EQ(trace.other_slices.size(), 31U);
  EXPECT_EQ(FindProblem(trace, "Unified Memory cannot be traced")->count, 1);
  // cudaStreamSynchronize, which this version files as a stream wait.
  EXPECT_EQ(trace.syncs.kind[0], trace::SyncKind::kStream);
  EXPECT_EQ(trace.Text(trace.runtime_calls.name[trace.syncs.call[0]]), "cudaStreamSynchronize");
}

TEST_F(NsysSampleTest, AnExportWithoutAKernelTableIsOneTraceOfHostRows) {
  ASSERT_NO_FATAL_FAILURE(Open("lighttransport/profile.sqlite"));
  if (IsSkipped()) {
    return;
  }

  EXPECT_EQ(CountRows(content_), (Counts{0, 0, 0, 3, 0, 0}));
  EXPECT_EQ(CountRows(content_), CountAllByQuery());
  EXPECT_EQ(content_.traces.size(), 1U);
}

TEST_F(NsysSampleTest, SyntheticExportsWithFiveTablesAreReadAndLinked) {
  const std::map<std::string, std::int64_t> kernels{{"nsys-ai/healthy_1pct.sqlite", 400},
                                                    {"nsys-ai/healthy_judged_1pct.sqlite", 20}};
  for (const auto& [name, count] : kernels) {
    ASSERT_NO_FATAL_FAILURE(Open(name));
    if (IsSkipped()) {
      return;
    }

    EXPECT_EQ(CountRows(content_), (Counts{count, 0, 0, count, 0, 0})) << name;
    EXPECT_EQ(CountRows(content_), CountAllByQuery()) << name;
    ASSERT_EQ(content_.traces.size(), 1U);
    const auto& launches = content_.traces[0].activities.launch;
    EXPECT_EQ(std::count(launches.begin(), launches.end(), kNoRow), 0) << name;
  }
}

}  // namespace
}  // namespace orrery::ingest::nsys
