#include "orrery/simulate/network/link_utilisation.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>

#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/base/units.h"
#include "orrery/simulate/simulation.h"
#include "orrery/workload/generate/jobs_test.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/models_test.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {
namespace {

/// Data parallelism over two nodes of eight GPUs.
workload::Job TwoNodes() {
  workload::Plan plan;
  plan.dp = 16;
  return workload::JobOf(
      {.model = {"small",
                 workload::Gpt({.hidden = 1024, .layers = 8, .heads = 16, .vocabulary = 256})},
       .plan = plan});
}

double BytesOfRank(const Simulation& simulation) {
  double bytes = 0;
  const workload::Program& program = simulation.generated->ensemble.programs.front();
  for (workload::TaskId task = 0; task < program.tasks.size(); ++task) {
    const workload::CommunicationId communication = program.tasks.communication[task];
    bytes += communication == workload::kNone
                 ? 0
                 : static_cast<double>(program.communications.bytes[communication]);
  }
  return bytes;
}

/// Of the first NIC, outwards.
double CarriedBytes(const workload::Job& job, const SimulationOptions& options,
                    const Simulation& simulation) {
  const auto utilisation =
      UtilisationOf(job, simulation.generated->ensemble, options, simulation, 50, 1000).value();
  const std::string name =
      simulation.network == NetworkModel::kShared ? "NIC out" : "nic0.0 → leaf0";
  const auto nic = std::ranges::find_if(utilisation.links, [&](const LinkUtilisation::Link& link) {
    return link.name.starts_with(name);
  });
  if (nic == utilisation.links.end()) {
    return 0;
  }
  EXPECT_NEAR(std::accumulate(nic->by_time.begin(), nic->by_time.end(), 0.0) / 50, nic->mean,
              1e-12);
  EXPECT_LE(*std::ranges::max_element(nic->by_time), 1);
  return nic->mean * static_cast<double>(simulation.step_ps()) * 1e-12 *
         job.cluster.nics.bandwidth.bytes_per_second;
}

// NCCL sums over two nodes by trees: each node sends its sum to the other once, over eight NICs.
// Whatever the time it takes, a NIC carries an eighth of the gradients.
TEST(LinkUtilisationTest, NicsCarryTheBytesOfTheirCollectives) {
  const workload::Job job = TwoNodes();
  for (const NetworkModel model : {NetworkModel::kShared, NetworkModel::kFlows}) {
    SimulationOptions options;
    options.network.model = model;
    const Simulation simulation = Simulate(job, workload::EqualCosts(), options).value();
    const double bytes = BytesOfRank(simulation);
    EXPECT_NEAR(CarriedBytes(job, options, simulation), bytes / 8, 1e-3 * bytes / 8);
  }
}

// A checkpoint of 16 parts, each of which a GPU sends over its NIC. Storage that takes a hundredth
// of what NICs carry gets a hundredth of the step in; nothing is slower for it. Storage that takes
// all slows gradients down, and gets all in.
TEST(LinkUtilisationTest, NicsCarryTheCheckpoint) {
  const workload::Job job = TwoNodes();
  const double nic = job.cluster.nics.bandwidth.bytes_per_second;
  for (const NetworkModel model : {NetworkModel::kShared, NetworkModel::kFlows}) {
    SimulationOptions options;
    options.network.model = model;
    const Simulation plain = Simulate(job, workload::EqualCosts(), options).value();
    EXPECT_FALSE(plain.checkpoint.has_value());
    const double gradients = BytesOfRank(plain) / 8;
    const double step_s = static_cast<double>(plain.step_ps()) * 1e-12;

    options.network.checkpoint =
        CheckpointWrite{.storage = {16 * nic / 100}, .size = Bytes{1'000'000'000'000}};
    const Simulation slow = Simulate(job, workload::EqualCosts(), options).value();
    EXPECT_EQ(slow.step_ps(), plain.step_ps());
    EXPECT_GT(slow.checkpoint->end_ps, slow.step_ps());
    EXPECT_NEAR(CarriedBytes(job, options, slow), gradients + step_s * nic / 100, 1e-3 * gradients);

    const auto size = static_cast<std::int64_t>(16 * step_s * nic * 0.9);
    options.network.checkpoint = CheckpointWrite{.storage = {1e15}, .size = Bytes{size}};
    const Simulation fast = Simulate(job, workload::EqualCosts(), options).value();
    EXPECT_GT(fast.step_ps(), plain.step_ps());
    EXPECT_EQ(fast.checkpoint->size.count, size);
    EXPECT_EQ(fast.checkpoint->of_gpu.bytes_per_second, nic);
    EXPECT_GT(fast.checkpoint->end_ps, 0.9 * static_cast<double>(plain.step_ps()));
  }
}

TEST(LinkUtilisationTest, AloneNoLinksAreShared) {
  const workload::Job job = TwoNodes();
  SimulationOptions options;
  options.network.model = NetworkModel::kAlone;
  const Simulation simulation = Simulate(job, workload::EqualCosts(), options).value();
  EXPECT_TRUE(UtilisationOf(job, simulation.generated->ensemble, options, simulation, 50, 1000)
                  ->links.empty());
}

}  // namespace
}  // namespace orrery::simulate
