#include "orrery/simulate/network/group_times.h"

#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/data_type.h"
#include "orrery/hardware/cluster.h"
#include "orrery/hardware/gpu.h"
#include "orrery/network/topology.h"
#include "orrery/overlap/concurrent_kernels.h"
#include "orrery/simulate/engine/kernel_code.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {
namespace {
using overlap::Pattern;

workload::Job EightA100s() {
  workload::Job job;
  job.cluster = *hardware::FindCluster("DGX A100");
  job.gpu = *hardware::FindGpu("A100-80GB");
  job.gpus = 8;
  return job;
}

/// The kernel of a collective over the eight GPUs, and how long it takes.
struct Asked {
  CommunicationTask task;
  double seconds = 0;
};

Asked Ask(CollectiveKind kind, std::int64_t bytes) {
  const workload::Job job = EightA100s();
  const std::unique_ptr<ClusterTimes> times = *ClusterTimes::Of(job);
  const std::vector<network::GpuId> gpus{0, 1, 2, 3, 4, 5, 6, 7};
  const workload::Communications::Row row{.kind = kind, .bytes = bytes, .element = DataType::kFp32};
  return {*times->KernelOf(row, gpus), static_cast<double>(*times->DurationPs(row, gpus)) * 1e-12};
}

// A ring of eight A100s has 24 channels of 512 threads and a warp that synchronises. Each rank
// sends 2 · 7/8 of the buffer; adding reads two and writes one for each.
TEST(ClusterTimesTest, AReductionIsOneBlockForEachChannel) {
  const Asked asked = Ask(CollectiveKind::kAllReduce, 1 << 30);

  EXPECT_EQ(asked.task.blocks, 24U);
  EXPECT_EQ(asked.task.threads, 544U);
  EXPECT_EQ(asked.task.pattern, Pattern::kReduceCopy);
  EXPECT_NEAR(asked.task.payload_gbps, 1.75 * (1 << 30) / asked.seconds * 1e-9, 1e-6);
  EXPECT_EQ(asked.task.chunk_bytes, 512 << 10);
}

// A copy that comes in, is read and is written moves three bytes as well, one and a half for each
// of the two that a kernel moves which copies.
TEST(ClusterTimesTest, AGatherMovesAsMuchForEachByteOnTheWire) {
  const Asked asked = Ask(CollectiveKind::kAllGather, 1 << 30);

  EXPECT_EQ(asked.task.pattern, Pattern::kCopy);
  EXPECT_NEAR(asked.task.payload_gbps, 1.5 * 0.875 * (1 << 30) / asked.seconds * 1e-9, 1e-6);
}

TEST(ClusterTimesTest, SmallMessagesHaveFewBlocksThatLookAtFlags) {
  const Asked asked = Ask(CollectiveKind::kAllReduce, 4096);

  EXPECT_LT(asked.task.blocks, 24U);
  EXPECT_TRUE(asked.task.pattern == Pattern::kLowLatency ||
              asked.task.pattern == Pattern::kLowLatency128);
}

TEST(ClusterTimesTest, NothingToMoveTakesNothing) {
  EXPECT_EQ(Ask(CollectiveKind::kAllReduce, 0).task.blocks, 0U);
}

}  // namespace
}  // namespace orrery::simulate
