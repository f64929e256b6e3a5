#include "orrery/simulate/link_utilisation.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>

#include <gtest/gtest.h>

#include "orrery/base/error.h"
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

// NCCL sums over two nodes by trees: each node sends its sum to the other once, over eight NICs.
// Whatever the time it takes, a NIC carries an eighth of the gradients.
TEST(LinkUtilisationTest, NicsCarryTheBytesOfTheirCollectives) {
  const workload::Job job = TwoNodes();
  for (const NetworkModel model : {NetworkModel::kShared, NetworkModel::kFlows}) {
    SimulationOptions options;
    options.network.model = model;
    const Simulation simulation = Simulate(job, workload::EqualCosts(), options).value();
    double bytes = 0;
    const workload::Program& program = simulation.generated->ensemble.programs.front();
    for (workload::TaskId task = 0; task < program.tasks.size(); ++task) {
      const workload::CommunicationId communication = program.tasks.communication[task];
      bytes += communication == workload::kNone
                   ? 0
                   : static_cast<double>(program.communications.bytes[communication]);
    }
    const auto utilisation =
        UtilisationOf(job, simulation.generated->ensemble, options, simulation, 50, 1000).value();
    const std::string name = model == NetworkModel::kShared ? "NIC out" : "nic0.0 → leaf0";
    const auto nic = std::ranges::find_if(
        utilisation.links,
        [&](const LinkUtilisation::Link& link) { return link.name.starts_with(name); });
    ASSERT_NE(nic, utilisation.links.end());
    const double carried = nic->mean * static_cast<double>(simulation.step_ps()) * 1e-12 *
                           job.cluster.nics.bandwidth.bytes_per_second;
    EXPECT_NEAR(carried, bytes / 8, 1e-3 * carried);
    EXPECT_NEAR(std::accumulate(nic->by_time.begin(), nic->by_time.end(), 0.0) / 50, nic->mean,
                1e-12);
    EXPECT_LE(*std::ranges::max_element(nic->by_time), 1);
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
