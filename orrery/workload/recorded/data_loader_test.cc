#include "orrery/workload/recorded/data_loader.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/program.h"
#include "orrery/workload/recorded/call_tree.h"
#include "orrery/workload/recorded/host/replayed_host.h"
#include "orrery/workload/recorded/recorded.h"
#include "orrery/workload/recorded/recordings_test.h"

namespace orrery::workload {
namespace {

constexpr const char* kWorkers = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
constexpr const char* kInProcess = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";

/// Steps that begin with a request of that duration, all in µs, and run an operator for 100.
trace::Trace Recording(const std::vector<std::int64_t>& requests, const std::string& loader) {
  RecordingWriter writer;
  std::int64_t at = 0;
  for (std::size_t step = 0; step < requests.size(); ++step) {
    const std::int64_t end = at + requests[step] + 110;
    writer.Annotation("ProfilerStep#" + std::to_string(step + 1), at, end);
    writer.Annotation(loader, at, at + requests[step]);
    writer.Operator("aten::relu", at + requests[step] + 5, end - 5);
    writer.Launch(at + requests[step] + 10, at + requests[step] + 20, 5000);
    at = end;
  }
  return writer.Finish();
}

// Requests of 800, 2 and 500 µs: a loader of two workers. Steps of 910, 112 and 610 µs for three
// batches, so one comes every 544 µs; (1302 − 3·2) / 3 = 432 µs of it the program waited. The
// standard error of their mean is √((366² + 432² + 66²) / 2 / 3) = 232.7 µs, 0.428 of it.
TEST(DataLoaderTest, BatchesComeAtThePaceOfTheRecordedSteps) {
  const std::optional<LoaderPace> loader = LoaderPaceOf(Recording({800, 2, 500}, kWorkers));

  ASSERT_TRUE(loader.has_value());
  EXPECT_EQ(loader->batch_ns, 544'000);
  EXPECT_EQ(loader->waited_ns, 432'000);
  EXPECT_EQ(loader->own_ns, 2'000);
  EXPECT_NEAR(loader->relative_error, 0.428, 0.001);
}

// Steps of 112 µs with requests of 2 µs: nothing waits, and batches come every 112 µs or faster.
// Those that the program makes itself are part of the step.
TEST(DataLoaderTest, BatchesThatAreThereComeAtLeastAsFastAsRecorded) {
  const trace::Trace recording = Recording({2, 2, 2}, kWorkers);

  EXPECT_FALSE(LoaderPaceOf(recording).has_value());
  EXPECT_EQ(RecordedBatchNs(recording), 112'000);
  EXPECT_EQ(RecordedBatchNs(Recording({2, 2, 2}, kInProcess)), 0);
}

// Steps of 112, 910 and 112 µs: the first one's batch was made before the recording began, so two
// came in 910 + 112 µs.
TEST(DataLoaderTest, BatchesOfBeforeTheRecordingTellNoPace) {
  const std::optional<LoaderPace> loader = LoaderPaceOf(Recording({2, 800, 2}, kWorkers));

  ASSERT_TRUE(loader.has_value());
  EXPECT_EQ(loader->batch_ns, 511'000);
}

TEST(DataLoaderTest, BatchesThatAreThereAreNoWait) {
  EXPECT_FALSE(LoaderPaceOf(Recording({6, 5, 6}, kWorkers)).has_value());
}

TEST(DataLoaderTest, RequestsThatAreAlikeAndLongAreWaits) {
  EXPECT_TRUE(LoaderPaceOf(Recording({90, 95, 92}, kWorkers)).has_value());
}

TEST(DataLoaderTest, LoaderInTheProgramsProcessIsWork) {
  EXPECT_FALSE(LoaderPaceOf(Recording({800, 2, 500}, kInProcess)).has_value());
}

TEST(DataLoaderTest, ExecutionTraceShowsItsLoader) {
  trace::Trace graph;
  EXPECT_FALSE(HasDataLoader(graph));
  graph.graph_nodes.Append(
      {.id = 1, .name = graph.strings.Intern(kWorkers), .kind = trace::GraphNodeKind::kAnnotation});
  EXPECT_TRUE(HasDataLoader(graph));
}

// The request of the replayed step begins behind the loader's batch, which takes 544 µs.
TEST(DataLoaderTest, ReplayedProgramWaitsForTheLoader) {
  const RecordedProgram recorded =
      ProgramOfMiddleStep(Recording({800, 2, 500}, kWorkers), HostChoice{});
  const Program& program = recorded.program;

  ASSERT_TRUE(recorded.loader.has_value());
  ASSERT_EQ(program.edges.size(), 1);
  const TaskId batch = program.edges.from[0];
  const TaskId request = program.edges.to[0];
  EXPECT_NE(program.tasks.lane[batch], program.tasks.lane[request]);
  EXPECT_EQ(program.tasks.duration_ps[batch], 544'000'000);
  EXPECT_EQ(program.tasks.duration_ps[request], 2'000'000);
}

}  // namespace
}  // namespace orrery::workload
