#include "orrery/simulate/several_jobs.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/kernel/estimate.h"
#include "orrery/network/topology.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/explain/summary.h"
#include "orrery/simulate/simulation.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/generate/generate.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {
namespace {

using workload::Ensemble;
using workload::Job;
using workload::Program;

int NodesOf(const Job& job) {
  const int size = std::max(job.cluster.gpus_per_node, 1);
  return (job.gpus + size - 1) / size;
}

Status CheckTogether(std::span<const Job> jobs) {
  std::int64_t nodes = 0;
  for (const Job& job : jobs) {
    nodes += NodesOf(job);
    if (job.cluster.name != jobs.front().cluster.name) {
      return Fail(
          Error::Kind::kInvalidInput,
          fmt::format("jobs are simulated together on one cluster: {} is on {}, {} on {}; "
                      "--cluster NAME puts all on one",
                      jobs.front().name, jobs.front().cluster.name, job.name, job.cluster.name));
    }
    if (job.gpu.name != jobs.front().gpu.name || !job.other_gpus.empty()) {
      return Fail(
          Error::Kind::kInvalidInput,
          fmt::format("{}: jobs that are simulated together have GPUs of one kind", job.name));
    }
  }
  const int there = jobs.front().cluster.nodes;
  if (there > 0 && nodes > there) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("{} has {} nodes, the jobs need {} together", jobs.front().cluster.name,
                            there, nodes));
  }
  return {};
}

/// Puts the ranks of a job on its nodes.
void Place(const PlacedJob& placed, Ensemble& ensemble) {
  const auto size = static_cast<std::uint32_t>(std::max(placed.job->cluster.gpus_per_node, 1));
  for (network::GpuId& gpu : ensemble.gpu_of_rank) {
    gpu = placed.nodes[gpu / size] * size + gpu % size;
  }
}

/// Writes the same step again behind itself. Lanes go on without a gap, as in a run.
void Repeat(int times, Program& program) {
  const auto num_tasks = static_cast<workload::TaskId>(program.tasks.size());
  const auto num_edges = static_cast<RowId>(program.edges.size());
  for (int time = 1; time < times; ++time) {
    const auto offset = static_cast<workload::TaskId>(time) * num_tasks;
    for (workload::TaskId task = 0; task < num_tasks; ++task) {
      workload::Tasks::Row row = program.tasks.At(task);
      row.launch = row.launch == workload::kNone ? workload::kNone : row.launch + offset;
      program.tasks.Append(row);
    }
    for (RowId edge = 0; edge < num_edges; ++edge) {
      workload::Edges::Row row = program.edges.At(edge);
      row.from += offset;
      row.to += offset;
      program.edges.Append(row);
    }
  }
}

/// Adds the ranks of a job behind those that are there. Programs move.
void Append(Ensemble& from, Ensemble& to) {
  const std::uint32_t first_rank = to.num_ranks();
  const auto first_program = static_cast<workload::ProgramId>(to.programs.size());
  const workload::GroupId first_group = to.num_groups();
  to.num_roles = from.num_roles;
  std::ranges::move(from.programs, std::back_inserter(to.programs));
  for (workload::Rank rank = 0; rank < from.num_ranks(); ++rank) {
    to.AddRank(first_program + from.program_of_rank[rank], from.gpu_of_rank[rank]);
    to.slowness_of_rank.back() = from.slowness_of_rank[rank];
  }
  for (const workload::GroupId group : from.group_of_role) {
    to.group_of_role.push_back(group == workload::kNoGroup ? group : group + first_group);
  }
  for (workload::GroupId group = 0; group < from.num_groups(); ++group) {
    std::vector<workload::Rank> members;
    for (const workload::Rank rank : from.Members(group)) {
      members.push_back(rank + first_rank);
    }
    to.AddGroup(members);
  }
}

JobsOnGpus JobsOnGpusOf(std::span<const PlacedJob> jobs, const Job& machine) {
  JobsOnGpus on_gpus;
  const auto size = static_cast<std::uint32_t>(std::max(machine.cluster.gpus_per_node, 1));
  on_gpus.job_of_gpu.resize(static_cast<std::size_t>(machine.gpus));
  for (std::uint32_t number = 0; number < jobs.size(); ++number) {
    on_gpus.jobs.push_back(jobs[number].job);
    for (const std::uint32_t node : jobs[number].nodes) {
      std::fill_n(on_gpus.job_of_gpu.begin() + static_cast<std::ptrdiff_t>(node) * size, size,
                  number);
    }
  }
  return on_gpus;
}

class Together {
 public:
  Together(std::span<const PlacedJob> jobs, const kernel::CostModel& costs,
           const SimulationOptions& options)
      : jobs_(jobs), costs_(costs), options_(options) {}

  Result<std::vector<JobTogether>> Run() {
    ORRERY_TRY_STATUS(Generate());
    ORRERY_TRY_STATUS(SimulateAlone());
    std::vector<std::uint32_t> first_rank{0};
    Ensemble all;
    for (Ensemble& ensemble : ensembles_) {
      Append(ensemble, all);
      first_rank.push_back(all.num_ranks());
    }
    const Job machine = MachineOf(jobs_);
    const JobsOnGpus on_gpus = JobsOnGpusOf(jobs_, machine);
    ORRERY_TRY(const Simulation simulation, SimulateEnsemble(machine, all, options_, &on_gpus));
    std::vector<std::int64_t> ends_ps(jobs_.size());
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      for (std::uint32_t rank = first_rank[i]; rank < first_rank[i + 1]; ++rank) {
        ends_ps[i] = std::max(
            ends_ps[i], simulation.timeline.EndOf(simulation.rank_classes.class_of_rank[rank]));
      }
    }
    SetTogether(ends_ps);
    return std::move(results_);
  }

 private:
  Status Generate() {
    const Job machine = MachineOf(jobs_);
    for (const PlacedJob& placed : jobs_) {
      ORRERY_TRY(workload::GeneratedJob generated, workload::Generate(*placed.job, costs_));
      results_.push_back({.not_modelled = NotModelled(*placed.job, generated, options_, &machine)});
      Place(placed, generated.ensemble);
      ensembles_.push_back(std::move(generated.ensemble));
    }
    return {};
  }

  Result<Simulation> Alone(std::size_t number) {
    const PlacedJob only = jobs_[number];
    return SimulateEnsemble(MachineOf({&only, 1}), ensembles_[number], options_);
  }

  /// All begin together, so the first that ends says how long all were there.
  void SetTogether(std::span<const std::int64_t> ends_ps) {
    const auto shortest_ps = static_cast<double>(*std::ranges::min_element(ends_ps));
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      JobTogether& result = results_[i];
      result.together_ps = ends_ps[i] / result.steps;
      result.steps_met = ends_ps[i] == 0
                             ? result.steps
                             : result.steps * (shortest_ps / static_cast<double>(ends_ps[i]));
    }
  }

  /// Once to see how long steps are, then as often as they are simulated together.
  Status SimulateAlone() {
    std::int64_t longest_ps = 0;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      ORRERY_TRY(const Simulation simulation, Alone(i));
      results_[i].alone_ps = simulation.step_ps();
      results_[i].summary =
          Summarize({&simulation.rank_classes, &simulation.timeline, jobs_[i].job});
      longest_ps = std::max(longest_ps, results_[i].alone_ps);
    }
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      JobTogether& result = results_[i];
      result.steps = static_cast<int>(std::clamp<std::int64_t>(
          (longest_ps + result.alone_ps / 2) / std::max<std::int64_t>(result.alone_ps, 1), 1,
          kMostSteps));
      if (result.steps == 1) {
        continue;
      }
      for (Program& program : ensembles_[i].programs) {
        Repeat(result.steps, program);
      }
      ORRERY_TRY(const Simulation simulation, Alone(i));
      result.alone_ps = simulation.step_ps() / result.steps;
    }
    return {};
  }

  std::span<const PlacedJob> jobs_;
  const kernel::CostModel& costs_;
  const SimulationOptions& options_;
  std::vector<Ensemble> ensembles_;
  std::vector<JobTogether> results_;
};

}  // namespace

Result<std::vector<PlacedJob>> PlaceJobs(std::span<const Job> jobs, JobPlacement placement) {
  ORRERY_TRY_STATUS(CheckTogether(jobs));
  std::vector<PlacedJob> placed;
  std::size_t missing = 0;
  for (const Job& job : jobs) {
    placed.push_back({.job = &job});
    missing += static_cast<std::size_t>(NodesOf(job));
  }
  std::uint32_t node = 0;
  std::size_t turn = 0;
  while (missing > 0) {
    PlacedJob& next = placed[turn % placed.size()];
    const bool is_complete = next.nodes.size() == static_cast<std::size_t>(NodesOf(*next.job));
    if (!is_complete) {
      next.nodes.push_back(node++);
      --missing;
    }
    turn += is_complete || placement == JobPlacement::kSpread ? 1 : 0;
  }
  return placed;
}

Result<std::vector<PlacedJob>> PlaceJobsOn(std::span<const Job> jobs,
                                           const std::vector<std::vector<std::uint32_t>>& nodes) {
  ORRERY_TRY_STATUS(CheckTogether(jobs));
  std::vector<PlacedJob> placed;
  std::set<std::uint32_t> taken;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const auto needed = static_cast<std::size_t>(NodesOf(jobs[i]));
    if (i >= nodes.size() || nodes[i].size() < needed) {
      return Fail(Error::Kind::kInvalidInput,
                  fmt::format("{} needs {} nodes, and its place has {}", jobs[i].name, needed,
                              i < nodes.size() ? nodes[i].size() : 0));
    }
    placed.push_back(
        {.job = &jobs[i],
         .nodes = {nodes[i].begin(), nodes[i].begin() + static_cast<std::ptrdiff_t>(needed)}});
    for (const std::uint32_t node : placed.back().nodes) {
      const int there = jobs[i].cluster.nodes;
      if (!taken.insert(node).second || (there > 0 && node >= static_cast<std::uint32_t>(there))) {
        return Fail(Error::Kind::kInvalidInput,
                    fmt::format("{} cannot have node {}: it is given twice, or {} has none with "
                                "that number",
                                jobs[i].name, node, jobs[i].cluster.name));
      }
    }
  }
  return placed;
}

Job MachineOf(std::span<const PlacedJob> jobs) {
  Job machine = *jobs.front().job;
  const int size = std::max(machine.cluster.gpus_per_node, 1);
  for (const PlacedJob& placed : jobs) {
    for (const std::uint32_t node : placed.nodes) {
      machine.gpus = std::max(machine.gpus, (static_cast<int>(node) + 1) * size);
    }
  }
  return machine;
}

Result<std::vector<JobTogether>> SimulateTogether(std::span<const PlacedJob> jobs,
                                                  const kernel::CostModel& costs,
                                                  const SimulationOptions& options) {
  return Together(jobs, costs, options).Run();
}

}  // namespace orrery::simulate
