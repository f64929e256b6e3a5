#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/base/error.h"
#include "orrery/base/folder.h"
#include "orrery/base/progress.h"
#include "orrery/base/value.h"
#include "orrery/calibrate/collectives/evaluation.h"
#include "orrery/calibrate/kernels/evaluation.h"
#include "orrery/calibrate/kernels/fit.h"
#include "orrery/cli/evaluate/output.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/verb.h"
#include "orrery/collective/machine_models.h"
#include "orrery/collective/measurement.h"
#include "orrery/kernel/measurement.h"
#include "orrery/kernel/model_set.h"
#include "orrery/learn/metrics.h"

namespace orrery::cli {
namespace {

struct EvaluateCollectivesArguments {
  std::vector<std::string> paths;
  std::string model;
  std::string split;
  std::string cluster;
  bool is_machine_unseen = false;  // evaluate each row by the models of other machines
  std::int64_t min_bytes = collective::kLeastBytes;
  OutputOptions output;
};

Value DataOf(const calibrate::CollectiveGroup& group) {
  return WithMetrics(Value::Object()
                         .Set("source", group.source)
                         .Set("machine", group.machine)
                         .Set("collective", group.collective)
                         .Set("gpus", group.gpus),
                     group.figures);
}

Document DocumentOf(const calibrate::CollectiveEvaluation& evaluation, const std::string& what) {
  Document document{.title = fmt::format("Evaluated: {}; errors in %", what),
                    .kind = "Orrery evaluation"};
  Document::Table table{.columns = MetricColumns({"machine", "source", "collective", "GPUs"}),
                        .total = MetricCells({"all", "", "", ""}, evaluation.overall),
                        .max_shown = SIZE_MAX};
  for (const calibrate::CollectiveGroup& group : evaluation.groups) {
    table.rows.push_back(
        MetricCells({group.machine, group.source, group.collective, group.gpus}, group.figures));
  }
  document.AddSection()
      .Set("overall", WithMetrics(Value::Object(), evaluation.overall))
      .Set("groups", Value::ListOf(evaluation.groups, DataOf))
      .Add(std::move(table));
  return document;
}

Result<int> EvaluateCollectives(const EvaluateCollectivesArguments& arguments) {
  ORRERY_TRY(const collective::Measurements data,
             ReadMeasuredCollectives(arguments.paths, arguments.cluster));
  ProgressLine progress(TerminalProgress(), "evaluating");
  calibrate::CollectiveEvaluation evaluation;
  std::string what = arguments.model.empty() ? "all rows, by the shipped constants"
                                             : "all rows, by " + arguments.model;
  if (arguments.split.empty()) {
    ORRERY_TRY(const collective::MachineModels models, LoadMachineModels(arguments.model));
    ORRERY_TRY(evaluation, calibrate::EvaluateCollectives(data.rows, arguments.min_bytes, models,
                                                          arguments.is_machine_unseen));
    what += arguments.is_machine_unseen ? ", without those of the machine itself" : "";
  } else {
    ORRERY_TRY(const calibrate::CollectiveSplitRule rule,
               calibrate::CollectiveSplitRule::Parse(arguments.split));
    ORRERY_TRY(evaluation,
               calibrate::EvaluateCollectivesHeldOut(data.rows, arguments.min_bytes, rule));
    what = "rows that were not fitted, split " + arguments.split;
  }
  progress.Clear();
  ORRERY_TRY_STATUS(Deliver(DocumentOf(evaluation, what), arguments.output));
  return NoticeRejected(data);
}

/// The models to evaluate and the measured rows.
struct KernelEvaluationArguments {
  std::vector<std::string> paths;
  std::vector<std::string> models;  // empty: the shipped ones
  std::string split;                // empty: evaluate all rows
  double largest_spread_percent = 100;
  bool is_gpu_unseen = false;  // evaluate each row by the models of other GPUs
};

Result<kernel::ModelSet> Fit(const std::vector<kernel::Measurement>& rows, ProgressLine& progress) {
  return calibrate::FitModels(rows, {}, [&](std::size_t done, std::size_t total) {
    progress.Update(static_cast<std::int64_t>(done), static_cast<std::int64_t>(total), "fitting");
  });
}

/// Learns from one part of the rows and evaluates the other.
Result<std::vector<calibrate::EvaluatedOperator>> EvaluateSplit(
    const std::vector<kernel::Measurement>& rows, const calibrate::KernelSplitRule& rule) {
  ORRERY_TRY(const std::vector<calibrate::RowSplit> rounds, calibrate::SplitRows(rows, rule));
  ProgressLine progress(TerminalProgress(), "fitting");
  std::vector<calibrate::EvaluatedOperator> evaluated;
  for (const calibrate::RowSplit& round : rounds) {
    ORRERY_TRY(const kernel::ModelSet models, Fit(round.train, progress));
    std::vector<calibrate::EvaluatedOperator> part = calibrate::EvaluateKernels(models, round.test);
    evaluated.insert(evaluated.end(), part.begin(), part.end());
  }
  return evaluated;
}

Result<kernel::Measurements> ReadRows(const KernelEvaluationArguments& evaluation) {
  ORRERY_TRY(kernel::Measurements data, kernel::ReadMeasurements(evaluation.paths));
  std::erase_if(data.rows, [&](const kernel::Measurement& row) {
    return row.spread * 100 > evaluation.largest_spread_percent;
  });
  return WithRows(std::move(data));
}

Option AddEvaluationOptions(Verb& verb, KernelEvaluationArguments& evaluation) {
  const Option data = verb.AddOption(
      "DATA", evaluation.paths, "tables of `orrery measure kernels`, NeuSight or aiconfigurator");
  verb.AddOption("--model FILE", evaluation.models,
                 "model file to evaluate instead of the shipped ones; may be repeated")
      .OneValueEach();
  verb.AddOption("--split RULE", evaluation.split,
                 "fit on a part and evaluate the rest: random:20, gpu, gpu:NAME, value:m:20, "
                 "above:m:4096, each perhaps with :seed=7");
  verb.AddFlag("--unseen-gpu", evaluation.is_gpu_unseen,
               "evaluate each row by the models of all GPUs but its own");
  verb.AddOption("--max-spread", evaluation.largest_spread_percent,
                 "leave out rows whose repeats differ by more than so many percent (100)")
      .Range(0.0, 1e6);
  return data;
}

Result<std::vector<std::string>> OwnTables() {
  // Ceilings are rates of the machine, pairs are times of concurrent kernels, and those of power
  // are at the clocks of sustained work.
  constexpr std::array<std::string_view, 3> kOtherTables{"ceilings", "overlap", "power"};
  const std::filesystem::path folder = (ProgramFolder() / "../data/measured").lexically_normal();
  const auto is_no_table = [&](const std::string& path) {
    const std::string name = std::filesystem::path(path).filename().string();
    return name.find(".csv") == std::string::npos ||
           std::ranges::any_of(kOtherTables,
                               [&](std::string_view start) { return name.starts_with(start); });
  };
  std::vector<std::string> paths;
  if (std::error_code ignored; std::filesystem::exists(folder, ignored)) {
    ORRERY_TRY(paths, FilesBelow(folder.string()));
    std::erase_if(paths, is_no_table);
  }
  if (paths.empty()) {
    return NotFound(
        "no measured tables next to the program (data/measured of its source tree); name some");
  }
  return paths;
}

Result<KernelEvaluationResult> EvaluateKernels(const KernelEvaluationArguments& options) {
  std::optional<calibrate::KernelSplitRule> rule;
  if (!options.split.empty()) {
    ORRERY_TRY(rule, calibrate::KernelSplitRule::Parse(options.split));
  }
  KernelEvaluationResult result;
  ORRERY_TRY(result.data, ReadRows(options));
  if (rule) {
    kernel::KeepFastestReplays(result.data.rows);
    result.split = rule->Text();
    ORRERY_TRY(result.rows, EvaluateSplit(result.data.rows, *rule));
    return result;
  }
  ORRERY_TRY(const std::shared_ptr<const kernel::ModelSet> models,
             LoadKernelModels(options.models));
  result.split =
      options.models.empty() ? "all rows, by the shipped models" : "all rows, by the given models";
  if (options.is_gpu_unseen) {
    result.split += " of other GPUs";
    result.rows = calibrate::EvaluateKernelsHeldOut(*models, result.data.rows);
    return result;
  }
  result.rows = calibrate::EvaluateKernels(*models, result.data.rows);
  return result;
}

struct Family {
  std::string name;
  std::string timing;  // parts of the measured times; empty where there is one kind only
  std::set<std::string> machines;  // GPUs or clusters
  learn::Evaluation figures;
};

struct FamilyEvaluation {
  std::string split;  // the rows that were evaluated
  std::vector<Family> families;
  std::vector<Document::List> not_used = {};  // rows, by name
  std::size_t rejected = 0;
};

struct FamilyRows {
  std::vector<double> predicted;
  std::vector<double> measured;
  std::set<std::string> machines;
};

void AddFamilies(const KernelEvaluationResult& kernels, FamilyEvaluation& evaluation) {
  std::map<kernel::Timing, FamilyRows> rows_of_timing;
  for (const calibrate::EvaluatedOperator& row : kernels.rows) {
    FamilyRows& rows = rows_of_timing[row.measured.timing];
    rows.predicted.push_back(row.predicted.seconds);
    rows.measured.push_back(row.measured.seconds);
    rows.machines.insert(row.measured.gpu->name);
  }
  for (const auto& [timing, rows] : rows_of_timing) {
    evaluation.families.push_back({"kernels", std::string(kernel::TimingName(timing)),
                                   rows.machines, learn::Evaluate(rows.predicted, rows.measured)});
  }
  evaluation.not_used.push_back(NotUsedList(kernels.data.files, kernels.data.rejected));
  evaluation.rejected += kernels.data.rejected.size();
}

void AddFamily(const calibrate::CollectiveEvaluation& collectives, FamilyEvaluation& evaluation) {
  std::set<std::string> machines;
  for (const calibrate::CollectiveGroup& group : collectives.groups) {
    machines.insert(group.machine);
  }
  evaluation.families.push_back({"collectives", "", std::move(machines), collectives.overall});
}

// JSON: docs/formats/evaluate-json.md.
Document FamiliesDocument(const FamilyEvaluation& evaluation) {
  Document document{.title = fmt::format("Evaluated: {}; errors in %", evaluation.split),
                    .kind = "Orrery evaluation"};
  Document::Table table{.columns = MetricColumns({"family", "timing", "machines"})};
  Value families = Value::List();
  for (const Family& family : evaluation.families) {
    table.rows.push_back(MetricCells(
        {family.name, family.timing, fmt::format("{}", fmt::join(family.machines, ", "))},
        family.figures));
    families.Add(WithMetrics(
        Value::Object()
            .Set("family", family.name)
            .Set("timing", family.timing)
            .Set(family.name == "kernels" ? "gpus" : "machines", Value::ListOf(family.machines)),
        family.figures));
  }
  Document::Section& section = document.AddSection();
  section.Set("split", evaluation.split)
      .Set("families", std::move(families))
      .Set("rejected_rows", evaluation.rejected)
      .Add(std::move(table));
  std::ranges::copy(evaluation.not_used, std::back_inserter(section.blocks));
  return document;
}

struct EvaluateArguments {
  KernelEvaluationArguments evaluation;
  OutputOptions output;
};

Result<int> EvaluateKernels(const EvaluateArguments& arguments) {
  ORRERY_TRY(const KernelEvaluationResult evaluation, EvaluateKernels(arguments.evaluation));
  return Deliver(EvaluationDocument(evaluation), arguments.output,
                 !evaluation.data.rejected.empty());
}

std::vector<std::string> TakeCollectives(std::vector<std::string>& paths) {
  std::vector<std::string> collectives;
  std::ranges::copy_if(paths, std::back_inserter(collectives), IsCollectiveData);
  std::erase_if(paths, [&](const std::string& path) {
    return std::ranges::find(collectives, path) != collectives.end();
  });
  return collectives;
}

Status AddCollectives(const std::vector<std::string>& paths, FamilyEvaluation& evaluation) {
  ORRERY_TRY(const collective::Measurements data, ReadMeasuredCollectives(paths, ""));
  ORRERY_TRY(const calibrate::CollectiveEvaluation evaluated,
             calibrate::EvaluateCollectives(data.rows, collective::kLeastBytes,
                                            collective::MachineModels::Shipped()));
  AddFamily(evaluated, evaluation);
  if (!data.rejected.empty()) {
    evaluation.rejected += data.rejected.size();
    evaluation.not_used.push_back(NotUsedList(data.files, data.rejected));
  }
  return {};
}

Result<int> EvaluateAll(const EvaluateArguments& arguments) {
  KernelEvaluationArguments options = arguments.evaluation;
  const bool are_own = options.paths.empty();
  if (are_own) {
    ORRERY_TRY(options.paths, OwnTables());
  }
  const std::vector<std::string> collectives = TakeCollectives(options.paths);
  FamilyEvaluation evaluation;
  evaluation.split = "all rows, by the shipped models";
  if (!options.paths.empty()) {
    ORRERY_TRY(const KernelEvaluationResult kernels, EvaluateKernels(options));
    evaluation.split = kernels.split;
    AddFamilies(kernels, evaluation);
  }
  if (!collectives.empty()) {
    ORRERY_TRY_STATUS(AddCollectives(collectives, evaluation));
  }
  if (are_own && options.split.empty() && options.models.empty()) {
    evaluation.split += ", which have learned from them (--split evaluates unseen rows)";
  }
  return Deliver(FamiliesDocument(evaluation), arguments.output, evaluation.rejected > 0);
}

}  // namespace

void AddEvaluateCollectivesCommand(Verb& evaluate) {
  auto arguments = std::make_shared<EvaluateCollectivesArguments>();
  Verb verb = evaluate.AddVerb("collectives", "Predicted against measured times of collectives");
  verb.AddOption("DATA", arguments->paths,
                 "nccl-tests logs or tables; docs/formats/measured-collectives.md")
      .Required();
  verb.AddOption("--model FILE", arguments->model,
                 "constants of `orrery fit collectives`, instead of the shipped ones");
  verb.AddOption("--split RULE", arguments->split,
                 "fit on a part and evaluate the rest: random:20, above:gpus:16, each perhaps with "
                 ":seed=7");
  verb.AddFlag("--unseen-machine", arguments->is_machine_unseen,
               "evaluate each row by the models of all machines but its own");
  verb.AddOption("--cluster NAME", arguments->cluster,
                 "the machine, where the data do not name it");
  verb.AddOption("--min-bytes", arguments->min_bytes, "leave out smaller messages (1024)");
  AddOutputOptions(verb, arguments->output);
  verb.OnRun([arguments] { return EvaluateCollectives(*arguments); });
}

void AddEvaluateKernelsCommand(Verb& evaluate) {
  auto arguments = std::make_shared<EvaluateArguments>();
  Verb verb = evaluate.AddVerb("kernels", "Predicted against measured times of operators");
  AddEvaluationOptions(verb, arguments->evaluation).Required();
  verb.AddOption("--predictions FILE", arguments->output.csv_file,
                 "write every evaluated row to this CSV (.gz, .zst)");
  verb.AddOption("--svg FILE", arguments->output.svg_file,
                 "draw errors over times and by operator");
  AddOutputOptions(verb, arguments->output);
  verb.OnRun([arguments] { return EvaluateKernels(*arguments); });
}

void AddEvaluateAllCommand(Verb& evaluate) {
  auto arguments = std::make_shared<EvaluateArguments>();
  Verb verb = evaluate.AddVerb("all", "One line for each family of models");
  AddEvaluationOptions(verb, arguments->evaluation);
  verb.Footer("Without DATA, the tables under data/measured of the source tree are evaluated.");
  AddOutputOptions(verb, arguments->output);
  verb.OnRun([arguments] { return EvaluateAll(*arguments); });
}

}  // namespace orrery::cli
