#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/error.h"
#include "orrery/base/parse_number.h"
#include "orrery/base/value.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/simulate/simulate.h"
#include "orrery/cli/verb.h"
#include "orrery/kernel/estimate.h"
#include "orrery/report/document.h"
#include "orrery/simulate/several_jobs.h"
#include "orrery/simulate/simulation.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/job_file.h"

namespace orrery::cli {
namespace {

using simulate::JobTogether;
using simulate::PlacedJob;

double Seconds(std::int64_t ps) {
  return static_cast<double>(ps) * 1e-12;
}

double LostShare(const JobTogether& result) {
  return 1 - static_cast<double>(result.alone_ps) / static_cast<double>(result.together_ps);
}

// "0-3, 8": nodes in runs.
std::string NodesText(const std::vector<std::uint32_t>& nodes) {
  std::string text;
  for (std::size_t first = 0; first < nodes.size();) {
    std::size_t last = first;
    while (last + 1 < nodes.size() && nodes[last + 1] == nodes[last] + 1) {
      ++last;
    }
    text += fmt::format("{}{}", text.empty() ? "" : ", ", nodes[first]);
    text += last > first ? fmt::format("-{}", nodes[last]) : "";
    first = last + 1;
  }
  return text;
}

// "0-3,8" of "0-3,8/4-7".
Result<std::vector<std::uint32_t>> ParseNodes(std::string_view text, const std::string& all) {
  std::vector<std::uint32_t> nodes;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::size_t dash = part.find('-');
    const auto first = ParseWhole<std::uint32_t>(part.substr(0, dash));
    const auto last =
        dash == std::string_view::npos ? first : ParseWhole<std::uint32_t>(part.substr(dash + 1));
    constexpr std::uint32_t kMostNodes = 1U << 20;
    if (!first || !last || *last < *first || *last >= kMostNodes) {
      return InvalidInput(
          "--placement {}: write packed, spread, or the nodes of each job as 0-7/8,10,12-17", all);
    }
    for (std::uint32_t node = *first; node <= *last; ++node) {
      nodes.push_back(node);
    }
  }
  return nodes;
}

Result<std::vector<PlacedJob>> Placed(const std::vector<workload::Job>& jobs,
                                      const std::string& placement) {
  if (placement == "packed" || placement == "spread") {
    return simulate::PlaceJobs(jobs, placement == "packed" ? simulate::JobPlacement::kPacked
                                                           : simulate::JobPlacement::kSpread);
  }
  std::vector<std::vector<std::uint32_t>> nodes;
  for (std::string_view left = placement; !left.empty();) {
    const std::string_view of_job = left.substr(0, left.find('/'));
    left.remove_prefix(std::min(left.size(), of_job.size() + 1));
    ORRERY_TRY(nodes.emplace_back(), ParseNodes(of_job, placement));
  }
  return simulate::PlaceJobsOn(jobs, nodes);
}

Value JobData(const PlacedJob& placed, const JobTogether& result) {
  return Value::Object()
      .Set("name", placed.job->name)
      .Set("gpus", placed.job->gpus)
      .Set("nodes", NodesText(placed.nodes))
      .Set("steps", result.steps)
      .Set("step_alone_s", Seconds(result.alone_ps))
      .Set("step_time_s", Seconds(result.together_ps))
      .Set("lost_share", LostShare(result));
}

Document DocumentOf(const std::vector<PlacedJob>& jobs, const std::vector<JobTogether>& results,
                    simulate::NetworkModel network) {
  const std::string& cluster = jobs.front().job->cluster.name;
  Document document{.title = fmt::format("{} jobs on one {}", jobs.size(), cluster),
                    .kind = "Orrery simulated jobs"};
  Document::Table table{.columns = {AsText("job"), AsCount("GPUs"), AsText("nodes"),
                                    AsTime("step alone"), AsTime("step together"),
                                    AsShare("lost to the others"), AsCount("steps simulated")},
                        .max_shown = SIZE_MAX};
  Value list = Value::List();
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    table.rows.push_back({jobs[i].job->name, jobs[i].job->gpus, NodesText(jobs[i].nodes),
                          results[i].alone_ps / 1000, results[i].together_ps / 1000,
                          LostShare(results[i]), results[i].steps});
    list.Add(JobData(jobs[i], results[i]));
  }
  Document::Section& section = document.AddSection();
  section.Add(std::move(table));
  section.Say(
      network == simulate::NetworkModel::kShared
          ? "Switches spread traffic evenly: jobs meet only above first switches that are "
            "oversubscribed (--oversubscribe), unless routes are simulated (--network flows)."
          : "Jobs begin together; a short one repeats its step until the longest has ended.");
  document.data = Value::Object()
                      .Set("network", std::string(simulate::Name(network)))
                      .Set("cluster", cluster)
                      .Set("jobs", std::move(list));
  return document;
}

}  // namespace

Result<Document> JobsTogether(const SimulateArguments& arguments, const kernel::CostModel& models,
                              const simulate::SimulationOptions& options) {
  std::vector<workload::Job> jobs;
  ORRERY_TRY(const JobArguments changes, JobArgumentsOf(arguments));
  for (const std::string& path : arguments.inputs) {
    ORRERY_TRY(workload::JobFile file, ReadJob(path, changes));
    jobs.push_back(std::move(file.job));
  }
  ORRERY_TRY(const std::vector<PlacedJob> placed, Placed(jobs, arguments.placement));
  ORRERY_TRY(const std::vector<JobTogether> results,
             simulate::SimulateTogether(placed, models, options));
  workload::Job machine = jobs.front();
  for (std::size_t i = 1; i < jobs.size(); ++i) {
    machine.gpus += jobs[i].gpus;
  }
  return DocumentOf(placed, results, simulate::NetworkModelOf(machine, options));
}

}  // namespace orrery::cli
