#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/api/session_state.h"
#include "orrery/base/error.h"
#include "orrery/base/progress.h"
#include "orrery/base/text.h"
#include "orrery/base/work_dealer.h"
#include "orrery/calibrate/framework_fit.h"
#include "orrery/calibrate/validation.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/validate/document.h"
#include "orrery/cli/validate/left_out.h"
#include "orrery/cli/validate/ranking.h"
#include "orrery/cli/verb.h"
#include "orrery/distribute/deal.h"
#include "orrery/kernel/model_set.h"
#include "orrery/overlap/concurrent_kernels.h"
#include "orrery/simulate/explain/step_intervals.h"
#include "orrery/simulate/simulation.h"
#include "orrery/workload/input.h"
#include "orrery/workload/job/fitted_runs.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/run_table.h"

namespace orrery::cli {
namespace {

struct ValidateArguments {
  std::string path;
  std::string source;
  std::vector<std::string> teams;
  std::vector<std::string> stacks;
  std::vector<std::string> grades;
  std::vector<std::string> models;
  std::string frameworks;
  std::vector<std::string> without;  // mechanisms
  int most_rows = 0;                 // of a team; 0: all
  bool leaves_team_out = false;
  bool ranks_plans = false;
  simulate::SimulationOptions engine;
  int threads = 0;
  OutputOptions output;
};

bool IsListed(const std::string& name, const std::vector<std::string>& listed) {
  return listed.empty() || std::ranges::any_of(listed, [&](const std::string& one) {
           return SameIgnoringCase(name, one);
         });
}

bool IsRequested(const workload::RunLabel& label, const ValidateArguments& arguments) {
  const bool has_source =
      LowerCase(label.source).find(LowerCase(arguments.source)) != std::string::npos;
  const bool has_grade = arguments.grades.empty() ||
                         std::ranges::find(arguments.grades, label.grade) != arguments.grades.end();
  return has_source && has_grade && IsListed(label.team, arguments.teams) &&
         IsListed(label.stack, arguments.stacks);
}

/// The requested rows; of teams with many at most as many as allowed, spread evenly over the table.
std::set<std::string> ChosenRows(const workload::RunTable& table,
                                 const ValidateArguments& arguments) {
  std::map<std::string, std::vector<std::string>> ids_of_team;
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    const workload::RunLabel label = table.Label(row);
    if (IsRequested(label, arguments)) {
      ids_of_team[label.team].push_back(label.id);
    }
  }
  std::set<std::string> chosen;
  for (const auto& [team, ids] : ids_of_team) {
    const std::size_t most =
        arguments.most_rows > 0 ? static_cast<std::size_t>(arguments.most_rows) : ids.size();
    const std::size_t count = std::min(most, ids.size());
    for (std::size_t i = 0; i < count; ++i) {
      chosen.insert(ids[i * ids.size() / count]);
    }
  }
  return chosen;
}

Result<workload::Mechanisms> MechanismsWithout(const std::vector<std::string>& names) {
  workload::Mechanisms mechanisms;
  for (const std::string& name : names) {
    const auto found =
        std::ranges::find(workload::kMechanismNames, name, &workload::MechanismName::name);
    if (found == workload::kMechanismNames.end()) {
      std::vector<std::string_view> known;
      std::ranges::transform(workload::kMechanismNames, std::back_inserter(known),
                             &workload::MechanismName::name);
      return InvalidInput("--without {}: no such mechanism; there are {}", name,
                          fmt::join(known, ", "));
    }
    mechanisms.*found->member = false;
  }
  return mechanisms;
}

Result<std::unique_ptr<workload::RunTable>> OpenTable(const std::string& path) {
  return path.empty() ? workload::ShippedRunTable() : workload::OpenRunTable(path);
}

Result<int> Validate(const ValidateArguments& arguments, WorkDealer& dealer) {
  if (arguments.ranks_plans && !arguments.output.svg_file.empty()) {
    return InvalidInput("--rank has no picture: leave out --svg, or write a page with --html");
  }
  ORRERY_TRY(const std::unique_ptr<workload::RunTable> table, OpenTable(arguments.path));
  ORRERY_TRY(const std::shared_ptr<const kernel::ModelSet> models,
             LoadKernelModels(arguments.models));
  calibrate::ValidateOptions options;
  const std::set<std::string> chosen = ChosenRows(*table, arguments);
  options.filter = [&](const workload::RunLabel& label) { return chosen.contains(label.id); };
  ORRERY_TRY(const workload::Mechanisms mechanisms, MechanismsWithout(arguments.without));
  options.engine = arguments.engine;
  ORRERY_TRY_STATUS(ProgramSession().state().SetOverlapModel(options.engine));
  ORRERY_TRY(const std::optional<OtherFits> other_fits, ReadOtherFits(arguments.frameworks));
  LeftOutJudges judges;
  if (arguments.leaves_team_out) {
    judges = JudgesWithout(*table, *models, options, mechanisms, dealer);
    options.intervals = [&](const workload::RunLabel& label) -> const simulate::StepIntervals& {
      return judges.For(label).intervals;
    };
    options.collectives = [&](const workload::RunLabel& label) {
      return &judges.For(label).models.collectives;
    };
  } else if (other_fits) {
    options.intervals = [&](const workload::RunLabel&) -> const simulate::StepIntervals& {
      return other_fits->intervals;
    };
  }
  options.change = [&](const workload::RunLabel& label, workload::Job& job) {
    job.mechanisms = mechanisms;
    if (arguments.leaves_team_out) {
      calibrate::CopyScalarsNamed(judges.For(label).models.frameworks, job.framework);
    } else if (other_fits) {
      calibrate::CopyScalarsNamed(other_fits->frameworks, job.framework);
    }
  };
  // Begins after the fit, which shows its own.
  ProgressLine progress(TerminalProgress(dealer), "simulating");
  options.progress = [&](std::size_t done, std::size_t total) {
    progress.Update(static_cast<std::int64_t>(done), static_cast<std::int64_t>(total), "rows");
  };
  ORRERY_TRY(const calibrate::Validation validation,
             calibrate::Validate(*table, *models, options, dealer));
  progress.Clear();
  if (!dealer.is_root()) {
    return kExitOk;
  }
  if (validation.rows == 0) {
    return InvalidInput(
        "{}: no row has the requested source and grade; leave out --source "
        "or --grade to list them",
        arguments.path.empty() ? "data/published/training.csv" : arguments.path);
  }
  if (arguments.ranks_plans) {
    return Deliver(RankingDocument(validation), arguments.output);
  }
  OutputOptions output = arguments.output;
  if (validation.evaluated.empty()) {
    output.svg_file.clear();  // there is nothing to draw
  }
  const workload::FittedRuns& runs = other_fits ? other_fits->runs : workload::ShippedFittedRuns();
  return Deliver(ValidationDocument(validation,
                                    arguments.leaves_team_out ? LeftOutNote() : InSampleNote(runs)),
                 output);
}

}  // namespace

void AddValidateCommand(Verb& app) {
  auto arguments = std::make_shared<ValidateArguments>();
  Verb verb = app.AddVerb("validate", "Simulated against measured steps of published runs");
  verb.AddOption(
      "TRUTH", arguments->path,
      "a table of measured runs (.csv, .csv.gz), docs/formats/published-runs.md; without "
      "one the table of ten publications that the program has "
      "(data/published/training.csv)");
  verb.AddOption("--source TEXT", arguments->source, "only rows whose source contains this");
  verb.AddOption("--team LIST", arguments->teams,
                 "only rows that these teams measured: NVIDIA,KAIST")
      .Delimiter(',');
  verb.AddOption("--stack LIST", arguments->stacks,
                 "only rows that ran these stacks: nanotron,Composer")
      .Delimiter(',');
  verb.AddOption("--grade LIST", arguments->grades, "only rows of these grades: A,A-")
      .Delimiter(',');
  verb.AddOption("--most-rows NUMBER", arguments->most_rows,
                 "at most so many rows of each team, spread evenly over the table")
      .NonNegative();
  verb.AddOption("--model FILE", arguments->models,
                 "kernel models of `orrery fit`, instead of the shipped ones");
  verb.AddOption("--frameworks FILE", arguments->frameworks,
                 "scalars of `orrery fit frameworks`, instead of the shipped ones");
  verb.AddFlag(
      "--leave-team-out", arguments->leaves_team_out,
      "evaluate each row with frameworks and intervals that were fitted without its stack and its "
      "team (data/workload/stacks.yaml)");
  verb.AddFlag(
      "--rank", arguments->ranks_plans,
      "evaluate the order of plans instead of times: groups of six rows or more that differ "
      "only in their plan, and what choosing our first costs over the measured best");
  verb.AddOption("--without NAME", arguments->without,
                 "leave a mechanism of the simulator out, to see what it does: power")
      .Delimiter(',');
  verb.AddOption(
      "--csv FILE", arguments->output.csv_file,
      "write every row with its error or refusal; with --rank every plan of every group");
  verb.AddOption("--svg FILE", arguments->output.svg_file,
                 "draw predicted against measured steps by source");
  AddOverlapOption(verb, arguments->engine.overlap);
  verb.AddChoice(
      "--network", arguments->engine.network.model,
      {{"alone", simulate::NetworkModel::kAlone}, {"shared", simulate::NetworkModel::kShared}},
      "how transfers of different groups share the network (default: shared over several "
      "nodes)");
  verb.AddOption("--threads", arguments->threads,
                 "at most this many, of each process (one for each core)")
      .NonNegative();
  AddOutputOptions(verb, arguments->output);
  verb.OnRun([arguments] {
    return distribute::WithDealer(arguments->threads,
                                  [&](WorkDealer& dealer) { return Validate(*arguments, dealer); });
  });
}

}  // namespace orrery::cli