#include "orrery/simulate/network/link_utilisation.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/network/topology.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/network/job_network.h"
#include "orrery/simulate/network/link_sharing.h"
#include "orrery/simulate/simulation.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {
namespace {

class Accumulation {
 public:
  Accumulation(const Simulation& simulation, LinkUsage& usage, std::size_t parts)
      : simulation_(simulation),
        usage_(usage),
        parts_(parts),
        part_ps_(
            std::max(1.0, static_cast<double>(simulation.step_ps()) / static_cast<double>(parts))),
        by_link_(usage.Capacities().size()) {}

  Status Run() {
    std::set<GroupClassId> known;
    const RankClasses& ranks = simulation_.rank_classes;
    for (RankClassId rank_class = 0; rank_class < ranks.classes.size(); ++rank_class) {
      for (std::uint32_t role = 0; role < ranks.num_roles; ++role) {
        const GroupClassId group = ranks.GroupOf(rank_class, role);
        // All members of a group have its transfers: the first tells them.
        if (group != workload::kNoGroup && known.insert(group).second) {
          ORRERY_TRY_STATUS(AddRole(rank_class, role, group));
        }
      }
    }
    return {};
  }

  void AddTraffic(std::span<const LinkTraffic> traffic) {
    for (std::size_t i = 0; i < traffic.size(); ++i) {
      Add(0, simulation_.timeline.traffic_end_ps[i], traffic[i].duration_ps, traffic[i].uses);
    }
  }

  [[nodiscard]] std::vector<std::vector<double>>& by_link() { return by_link_; }

 private:
  Status AddRole(RankClassId rank_class, std::uint32_t role, GroupClassId group) {
    const workload::Program& program = simulation_.rank_classes.ProgramOf(rank_class);
    const std::size_t first = simulation_.timeline.First(rank_class);
    workload::CommunicationId priced = workload::kNone;
    TransferUses uses;
    for (workload::TaskId task = 0; task < program.tasks.size(); ++task) {
      const workload::CommunicationId communication = program.tasks.communication[task];
      if (communication == workload::kNone || program.communications.role[communication] != role) {
        continue;
      }
      if (communication != priced) {
        ORRERY_TRY(uses, usage_.UsesOf(group, program.communications.At(communication)));
        priced = communication;
      }
      AddTransfer(first + task, uses);
    }
    return {};
  }

  void AddTransfer(std::size_t index, const TransferUses& uses) {
    const Timeline& timeline = simulation_.timeline;
    const std::int64_t begin_ps =
        std::max<std::int64_t>(0, std::max(timeline.begin_ps[index], timeline.transfer_ps[index]));
    const DelayedTask* const delayed = timeline.FindDelayed(index);
    const std::int64_t took_ps = timeline.end_ps[index] - begin_ps;
    Add(begin_ps, timeline.end_ps[index], delayed == nullptr ? took_ps : delayed->alone_ps, uses);
  }

  // Adds the use of links by a transfer alone, over the time that it took.
  void Add(std::int64_t begin_ps, std::int64_t end_ps, std::int64_t alone_ps,
           const TransferUses& uses) {
    if (end_ps <= begin_ps) {
      return;
    }
    const double rate =
        std::min(1.0, static_cast<double>(alone_ps) / static_cast<double>(end_ps - begin_ps));
    const auto first = static_cast<std::size_t>(static_cast<double>(begin_ps) / part_ps_);
    const auto last =
        std::min(parts_ - 1, static_cast<std::size_t>(static_cast<double>(end_ps) / part_ps_));
    for (std::size_t part = first; part <= last; ++part) {
      const double from =
          std::max(static_cast<double>(begin_ps), static_cast<double>(part) * part_ps_);
      const double to =
          std::min(static_cast<double>(end_ps), static_cast<double>(part + 1) * part_ps_);
      for (const network::LinkUse& use : uses.links) {
        std::vector<double>& shares = by_link_[use.link];
        shares.resize(parts_);
        shares[part] += use.share * rate * std::max(0.0, to - from) / part_ps_;
      }
    }
  }

  const Simulation& simulation_;
  LinkUsage& usage_;
  std::size_t parts_;
  double part_ps_;
  std::vector<std::vector<double>> by_link_;  // empty: carries nothing
};

}  // namespace

Result<LinkUtilisation> UtilisationOf(const workload::Job& machine,
                                      const workload::Ensemble& ensemble,
                                      const SimulationOptions& options,
                                      const Simulation& simulation, std::size_t parts,
                                      std::size_t most_links) {
  LinkUtilisation result;
  ORRERY_TRY(const std::unique_ptr<JobNetwork> network,
             JobNetwork::Of(machine, ensemble, options, simulation.network));
  ORRERY_TRY(const std::unique_ptr<LinkUsage> usage, network->Links(simulation.rank_classes));
  if (usage == nullptr) {
    return result;
  }
  Accumulation accumulation(simulation, *usage, parts);
  ORRERY_TRY_STATUS(accumulation.Run());
  ORRERY_TRY(const std::vector<LinkTraffic> traffic,
             network->CheckpointTraffic(simulation.rank_classes, *usage));
  accumulation.AddTraffic(traffic);
  for (std::uint32_t link = 0; link < accumulation.by_link().size(); ++link) {
    std::vector<double>& shares = accumulation.by_link()[link];
    if (!shares.empty()) {
      const double mean =
          std::accumulate(shares.begin(), shares.end(), 0.0) / static_cast<double>(parts);
      result.links.push_back({usage->NameOf(link), mean, std::move(shares)});
    }
  }
  result.num_links = result.links.size();
  std::ranges::stable_sort(result.links, std::ranges::greater{}, &LinkUtilisation::Link::mean);
  result.links.resize(std::min(result.links.size(), most_links));
  return result;
}

}  // namespace orrery::simulate
