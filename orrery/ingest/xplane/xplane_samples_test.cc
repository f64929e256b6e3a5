#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/xplane/plane.h"
#include "orrery/ingest/xplane/reading_test.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"
#include "test_paths.h"

namespace orrery::ingest::xplane {
namespace {

using trace::ActivityKind;
using trace::Trace;

// Recordings of others; the tests are skipped where they are not.
class XplaneSamples : public ::testing::Test {
 protected:
  Trace ReadSample(const std::string& name) {
    const std::string path = std::string(ORRERY_SHARED) + "/traces/" + name;
    if (!std::filesystem::exists(path)) {
      return {};
    }
    return ReadFile(InputFile::Open(path));
  }
};

std::int64_t CountOf(const Trace& trace, ActivityKind kind, std::int32_t device) {
  std::int64_t count = 0;
  for (RowId row = 0; row < trace.activities.size(); ++row) {
    count += trace.activities.kind[row] == kind &&
                     trace.tracks.device[trace.activities.track[row]] == device
                 ? 1
                 : 0;
  }
  return count;
}

// Each core runs 300 fusions and 3 all-reduces, the first one also a broadcast, and issues 600
// copies. Only the first core has a line of asynchronous operations.
TEST_F(XplaneSamples, AllCoresOfTheTpuHaveTheirCopies) {
  const Trace trace = ReadSample("xprof/tpu_inference.xplane.pb.gz");
  if (trace.tracks.empty()) {
    GTEST_SKIP() << "tpu_inference.xplane.pb.gz is not there";
  }

  for (std::int32_t device = 0; device < 4; ++device) {
    EXPECT_EQ(CountOf(trace, ActivityKind::kKernel, device), device == 0 ? 304 : 303) << device;
    EXPECT_EQ(CountOf(trace, ActivityKind::kMemcpy, device), 600) << device;
  }
  EXPECT_EQ(trace.collectives.size(), 12U);
  EXPECT_EQ(trace.devices.size(), 4U);
  EXPECT_FALSE(trace.problems.has_loss());
}

// Copies assembled from halves must equal those that the profiler assembled itself.
TEST_F(XplaneSamples, CopiesFromHalvesAreThoseOfTheProfiler) {
  const Trace trace = ReadSample("xprof/tpu_inference.xplane.pb.gz");
  if (trace.tracks.empty()) {
    GTEST_SKIP() << "tpu_inference.xplane.pb.gz is not there";
  }
  using Times = std::multiset<std::pair<std::int64_t, std::int64_t>>;
  Times recorded;
  std::vector<AsyncHalf> halves;
  for (RowId row = 0; row < trace.activities.size(); ++row) {
    if (trace.tracks.device[trace.activities.track[row]] == 0 &&
        trace.activities.kind[row] == ActivityKind::kMemcpy) {
      recorded.emplace(trace.activities.begin_ns[row],
                       trace.activities.begin_ns[row] + trace.activities.duration_ns[row]);
    }
  }
  for (RowId row = 0; row < trace.annotations.size(); ++row) {
    const std::string name(trace.Text(trace.annotations.name[row]));
    const std::int64_t begin_ns = trace.annotations.begin_ns[row];
    const std::int64_t end_ns = begin_ns + trace.annotations.duration_ns[row];
    if (trace.tracks.device[trace.annotations.track[row]] == 0 && name.starts_with("copy-")) {
      const bool is_start = name.starts_with("copy-start");
      halves.push_back({.is_start = is_start,
                        .start_name = is_start ? name : StartOfDone(name, ""),
                        .begin_ns = begin_ns,
                        .end_ns = end_ns});
    }
  }

  Times paired;
  for (const AsyncWork& work : PairAsync(halves).works) {
    paired.emplace(work.begin_ns, work.end_ns);
  }

  EXPECT_EQ(recorded.size(), 600U);
  EXPECT_EQ(paired, recorded);
}

TEST_F(XplaneSamples, KernelsOfTheGpuHaveLaunchesAndShapes) {
  const Trace trace = ReadSample("tracelens/mi300/jax_conv_minimal_08.xplane.pb");
  if (trace.tracks.empty()) {
    GTEST_SKIP() << "jax_conv_minimal_08.xplane.pb is not there";
  }

  EXPECT_EQ(trace.info.host_name, "tw003");
  EXPECT_EQ(trace.info.time_origin, trace::TimeOrigin::kEpoch);
  EXPECT_EQ(trace.devices.size(), 8U);
  for (RowId row = 0; row < trace.activities.size(); ++row) {
    EXPECT_NE(trace.activities.shape[row], kNoRow);
    EXPECT_NE(trace.activities.launch[row], kNoRow);
  }
}

}  // namespace
}  // namespace orrery::ingest::xplane
