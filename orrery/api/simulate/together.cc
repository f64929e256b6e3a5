#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "orrery/api/cancellation.h"
#include "orrery/api/errors.h"
#include "orrery/api/fields/documents.h"
#include "orrery/api/input/job_input.h"
#include "orrery/api/session_state.h"
#include "orrery/api/simulate/answer.h"
#include "orrery/api/simulate/engine_input.h"
#include "orrery/base/error.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/kernel/estimate.h"
#include "orrery/report/document.h"
#include "orrery/simulate/explain/summary.h"
#include "orrery/simulate/several_jobs.h"
#include "orrery/simulate/simulation.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/job_file.h"

namespace orrery::api {

using simulate::JobTogether;
using simulate::PlacedJob;

struct JobAnswer {
  PlacedJob placed;
  JobTogether result;
  std::vector<std::string> left_out;  // of the job as it is written

  [[nodiscard]] const std::string& name() const { return placed.job->name; }
};

struct SimulatedJobs {
  std::vector<workload::Job> jobs;
  std::vector<JobAnswer> answers;
  simulate::NetworkModel network = simulate::NetworkModel::kAlone;
};

namespace {

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

JobResult MakeJobResult(const JobAnswer& answer) {
  const JobTogether& together = answer.result;
  JobResult result{.name = answer.name(),
                   .gpus = answer.placed.job->gpus,
                   .nodes = NodesText(answer.placed.nodes),
                   .steps = together.steps,
                   .steps_met = together.steps_met,
                   .step_alone_s = Seconds(together.alone_ps),
                   .step_time_s = Seconds(together.together_ps),
                   .lost_share = LostShare(together),
                   .left_out = answer.left_out};
  SetMemory(together.summary, result);
  return result;
}

Document::Table StepTable(const std::vector<JobAnswer>& answers) {
  Document::Table table{.columns = {AsText("job"), AsCount("GPUs"), AsText("nodes"),
                                    AsTime("step alone"), AsTime("step together"),
                                    AsShare("lost to the others"), AsCount("steps simulated"),
                                    Formatted("beside all others", NumberFormat("{:.1f}"))},
                        .max_shown = SIZE_MAX};
  for (const JobAnswer& answer : answers) {
    const JobTogether& result = answer.result;
    table.rows.push_back({answer.name(), answer.placed.job->gpus, NodesText(answer.placed.nodes),
                          result.alone_ps / 1000, result.together_ps / 1000, LostShare(result),
                          result.steps, result.steps_met});
  }
  return table;
}

// The fullest stage of each job.
Document::Table MemoryTable(const std::vector<JobAnswer>& answers) {
  Document::Table table{.columns = MemoryColumns(), .max_shown = SIZE_MAX};
  table.columns.insert(table.columns.begin(), AsText("job"));
  for (const JobAnswer& answer : answers) {
    if (const simulate::StageSummary* const fullest = answer.result.summary.Fullest()) {
      std::vector<Value> cells = MemoryCells(*fullest);
      cells.insert(cells.begin(), answer.name());
      table.rows.push_back(std::move(cells));
    }
  }
  return table;
}

// Sentences that hold for all jobs once; the rest with the names of their jobs.
std::vector<std::string> NotModelledOf(const std::vector<JobAnswer>& answers) {
  std::vector<std::pair<std::string, std::vector<std::string>>> jobs_of_sentence;
  for (const JobAnswer& answer : answers) {
    for (const std::string& sentence : answer.result.not_modelled) {
      auto found = std::ranges::find(jobs_of_sentence, sentence,
                                     &std::pair<std::string, std::vector<std::string>>::first);
      if (found == jobs_of_sentence.end()) {
        found = jobs_of_sentence.insert(found, {sentence, {}});
      }
      found->second.push_back(answer.name());
    }
  }
  std::vector<std::string> sentences;
  for (const auto& [sentence, jobs] : jobs_of_sentence) {
    sentences.push_back(jobs.size() == answers.size()
                            ? sentence
                            : fmt::format("{}: {}", fmt::join(jobs, ", "), sentence));
  }
  return sentences;
}

Status CheckTogether(const SimulateRequest& request) {
  const std::size_t jobs = request.jobs.size();
  if (!request.slow.empty() || !request.fail.empty() || !request.degrade.empty() ||
      request.steps > 0) {
    return InvalidInput("--slow, --fail, --degrade and --steps take a single job; {} were given",
                        jobs);
  }
  if (request.step_only) {
    return InvalidInput("--step-only takes a single job; {} were given", jobs);
  }
  if (!request.what_if.empty()) {
    return InvalidInput("--what-if takes a single job; {} were given", jobs);
  }
  if (!request.checkpoint_traffic.empty()) {
    return InvalidInput("--checkpoint-traffic takes a single job; {} were given", jobs);
  }
  return {};
}

Result<SimulateTogetherResult> RunTogether(const Session& session, const SimulateRequest& request,
                                           const simulate::SimulationOptions& options) {
  ORRERY_TRY(const std::shared_ptr<const kernel::CostModel> costs,
             session.state().Costs(request.job.kernel_models));
  request.call.Report("simulating");
  ORRERY_TRY(const JobInput changes, JobInputOf(request));
  const auto simulated = std::make_shared<SimulatedJobs>();
  std::vector<JobAnswer>& answers = simulated->answers;
  answers.resize(request.jobs.size());
  for (std::size_t i = 0; i < answers.size(); ++i) {
    ORRERY_TRY(workload::JobFile file, ReadJob(request.jobs[i], changes));
    simulated->jobs.push_back(std::move(file.job));
    answers[i].left_out = std::move(file.not_modelled);
  }
  ORRERY_TRY(const std::vector<PlacedJob> placed, Placed(simulated->jobs, request.placement));
  ORRERY_TRY(std::vector<JobTogether> results, simulate::SimulateTogether(placed, *costs, options));
  for (std::size_t i = 0; i < answers.size(); ++i) {
    answers[i].placed = placed[i];
    answers[i].result = std::move(results[i]);
  }
  simulated->network = simulate::NetworkModelOf(simulate::MachineOf(placed), options);
  SimulateTogetherResult result{.network = std::string(simulate::Name(simulated->network)),
                                .cluster = simulated->jobs.front().cluster.name,
                                .jobs = {},
                                .not_modelled = NotModelledOf(answers)};
  std::ranges::transform(answers, std::back_inserter(result.jobs), MakeJobResult);
  result.answers = simulated;
  return result;
}

}  // namespace

Result<SimulateTogetherResult> SimulateTogether(const Session& session,
                                                const SimulateRequest& request) {
  return RunCancellable(request.call, [&]() -> Result<SimulateTogetherResult> {
    ORRERY_TRY(const EngineInput engine, ReadEngineInput(session, request));
    ORRERY_TRY_STATUS(CheckTogether(request));
    return RunTogether(session, request, engine.options);
  });
}

bool HoldsSeveralJobs(const SimulateRequest& request) {
  return request.jobs.size() > 1 && InputKind(request) == SimulateInput::kJob;
}

bool SimulateTogetherResult::AnyOutOfMemory() const {
  return std::ranges::any_of(jobs, &JobResult::out_of_memory);
}

Document MakeDocument(const SimulateTogetherResult& result) {
  const std::vector<JobAnswer>& answers = result.answers->answers;
  Document document{.title = fmt::format("{} jobs on one {}", answers.size(), result.cluster),
                    .kind = "Orrery simulated jobs"};
  Document::Section& section = document.AddSection();
  for (const JobAnswer& answer : answers) {
    AddOutOfMemory(answer.name() + ", ", answer.result.summary, section);
    AddLeftOut(answer.name(), answer.left_out, section);
  }
  section.Add(StepTable(answers));
  section.Say(
      fmt::format("Jobs begin together; a short one repeats its step until the longest has "
                  "ended, at most {} times.",
                  simulate::kMostSteps));
  if (result.answers->network == simulate::NetworkModel::kShared) {
    section.Say(
        "Jobs meet only above first switches that are oversubscribed (--oversubscribe), unless "
        "routes are simulated (--network flows).");
  }
  document.AddSection("Memory").Add(MemoryTable(answers));
  document.AddSection().Add(Document::List{"", "Not modelled", result.not_modelled, true});
  document.data = ToObject(result);
  return document;
}

}  // namespace orrery::api
