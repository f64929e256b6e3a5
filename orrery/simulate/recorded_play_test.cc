#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "orrery/hardware/cluster.h"
#include "orrery/hardware/gpu.h"
#include "orrery/ingest/run.h"
#include "orrery/kernel/memo.h"
#include "orrery/kernel/shipped_models.h"
#include "orrery/simulate/cast.h"
#include "orrery/simulate/group_times.h"
#include "orrery/simulate/link_class.h"
#include "orrery/simulate/play.h"
#include "orrery/workload/graph_prices.h"
#include "orrery/workload/host_fit.h"
#include "orrery/workload/recorded_ensemble.h"

// The DLRM step that eight V100s recorded: execution traces, and profiles of the same job.

namespace orrery::simulate {
namespace {

using workload::Rank;

const std::string kDlrm = ORRERY_SHARED "/traces/param/dlrm-8gpu";

/// When the main thread of a rank ends.
std::int64_t HostEndPs(const Cast& cast, const Performance& played, PlayerId player) {
  const workload::Program& program = cast.ProgramOf(player);
  std::int64_t end_ps = 0;
  for (workload::TaskId task = 0; task < program.tasks.size(); ++task) {
    if (program.lanes.kind[program.tasks.lane[task]] == workload::LaneKind::kHostThread) {
      end_ps = std::max(end_ps, played.end_ps[played.First(player) + task]);
    }
  }
  return end_ps;
}

TEST(Explore, Dlrm) {
  auto run = ingest::ReadRun({kDlrm}).value();
  auto& ranks = run.set.ranks;
  const char* mode = std::getenv("MODE");
  const std::string modes = mode == nullptr ? "" : mode;
  workload::HostFit fit;
  for (const auto& rank : ranks) {
    static_cast<void>(fit.Add(rank));
  }
  workload::Job job;
  job.gpus = 8;
  job.cluster = *hardware::FindCluster("DGX-1 V100");
  auto times = ClusterTimes::Of(job).value();
  const hardware::Gpu* const gpu = hardware::FindGpu("V100");
  std::vector<workload::GraphPrices> prices;
  std::int64_t first_ns = ranks[0].steps.begin_ns[0];
  for (const auto& rank : ranks) {
    first_ns = std::min(first_ns, rank.steps.begin_ns[0]);
  }
  for (Rank left = 0; left < ranks.size(); ++left) {
    workload::HostModel host = fit.Fit({.profiler_cost_ns = 0, .without = modes.find('a') != std::string::npos ? std::vector<std::size_t>{} : std::vector<std::size_t>{left}});
    if (modes.find('t') == std::string::npos) {
      host = workload::WithMeans(host);
    }
    if (prices.empty()) {
      const kernel::ModelSet models = kernel::ShippedModels().value();
      const kernel::MemoizedCostModel costs(models, *gpu);
      for (const auto& rank : ranks) {
        prices.push_back(modes.find('r') != std::string::npos ? workload::RecordedPrices(rank)
                                          : workload::PriceGraph(rank, *gpu, costs, host));
      }
    }
    std::vector<workload::RankGraph> graphs;
    for (Rank rank = 0; rank < ranks.size(); ++rank) {
      graphs.push_back({.graph = &ranks[rank],
                        .price = [&prices, rank](trace::RowId node) { return prices[rank].tasks_of_node[node]; },
                        .begin_ps = modes.find('z') != std::string::npos ? 0 : (ranks[rank].steps.begin_ns[0] - first_ns) * 1000});
    }
    const auto ensemble = workload::EnsembleOfGraphs(graphs, host).value();
    const Cast cast = Unfolded(ensemble.ensemble, IslandLinkClass(8));
    const auto played = Play(cast, *times);
    ASSERT_TRUE(played.has_value()) << played.error().message();
    const double predicted = static_cast<double>(HostEndPs(cast, *played, left) - graphs[left].begin_ps) / 1e9;
    const double measured = static_cast<double>(ranks[left].steps.duration_ns[0]) / 1e6;
    fmt::print("rank {} predicted {:.3f} measured {:.3f} error {:+.1f} %\n", left, predicted, measured, 100 * (predicted / measured - 1));
    if (modes.find('v') != std::string::npos) {
      const auto& program = ensemble.ensemble.programs[left];
      for (workload::TaskId task = 0; task < program.tasks.size(); ++task) {
        if (program.tasks.kind[task] == workload::TaskKind::kCollective) {
          const auto i = played->First(left) + task;
          const auto c = program.communications.At(program.tasks.communication[task]);
          const auto launch = played->First(left) + program.tasks.launch[task];
          fmt::print("   launch lane {} {}..{}", program.tasks.lane[program.tasks.launch[task]], (played->begin_ps[launch]-graphs[left].begin_ps)/1000000, (played->end_ps[launch]-graphs[left].begin_ps)/1000000);
          fmt::print("   {} {} B begin {} transfer {} end {} us\n", collective::Name(c.kind), c.bytes, (played->begin_ps[i]-graphs[left].begin_ps) / 1000000, (played->transfer_ps[i]-graphs[left].begin_ps) / 1000000, (played->end_ps[i]-graphs[left].begin_ps) / 1000000);
        }
      }
      for (workload::CallId call = 0; call < program.calls.size(); ++call) {
        if (program.calls.first_task[call] == workload::kNone) continue;
        const auto b = played->begin_ps[played->First(left) + program.calls.first_task[call]], e = played->end_ps[played->First(left) + program.calls.last_task[call]];
        if (e - b > 140000000) fmt::print("   call lane {} {} {}..{}\n", program.calls.lane[call], program.strings.View(program.calls.name[call]), (b-graphs[left].begin_ps)/1000000, (e-graphs[left].begin_ps)/1000000);
      }
      for (const auto& p : ensemble.problems.all()) fmt::print("   problem {} {}\n", p.what, p.count);
    }
  }
}

}  // namespace
}  // namespace orrery::simulate
