#include "orrery/cli/command.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/base/error.h"
#include "orrery/base/value.h"
#include "orrery/cli/collective_data.h"
#include "orrery/cli/evaluate/commands.h"
#include "orrery/cli/evaluate/kernel_evaluation.h"
#include "orrery/cli/evaluate/output.h"
#include "orrery/cli/output.h"
#include "orrery/collective/evaluation.h"
#include "orrery/learn/metrics.h"

namespace orrery::cli {
namespace {

/// One line of `evaluate all`.
struct Family {
  std::string name;
  std::string timing;              // what the times include; empty where there is one kind only
  std::set<std::string> machines;  // GPUs or clusters
  learn::Evaluation figures;
};

/// The result of `evaluate all`, family by family.
struct FamilyEvaluation {
  std::string split;  // which rows were evaluated
  std::vector<Family> families;
  std::vector<report::Document::List> not_used = {};  // rows, by name
  std::size_t rejected = 0;
};

struct FamilyRows {
  std::vector<double> predicted;
  std::vector<double> measured;
  std::set<std::string> machines;
};

void AddFamilies(const KernelEvaluationResult& kernels, FamilyEvaluation& evaluation) {
  std::map<kernel::Timing, FamilyRows> rows_of_timing;
  for (const kernel::EvaluatedRow& row : kernels.rows) {
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

void AddFamily(const collective::EvaluationResult& collectives, FamilyEvaluation& evaluation) {
  std::set<std::string> machines;
  for (const collective::EvaluatedGroup& group : collectives.groups) {
    machines.insert(group.machine);
  }
  evaluation.families.push_back({"collectives", "", std::move(machines), collectives.overall});
}

// JSON: docs/formats/evaluate-json.md.
report::Document FamiliesDocument(const FamilyEvaluation& evaluation) {
  using report::Document;
  Document document{.title = fmt::format("Evaluated: {}; errors in %", evaluation.split),
                    .kind = "Orrery evaluation"};
  Document::Table table{
      .key = "", .heading = "", .columns = MetricColumns({"family", "timing", "machines"})};
  Value families = Value::List();
  for (const Family& family : evaluation.families) {
    table.rows.push_back(MetricCells(
        {family.name, family.timing, fmt::format("{}", fmt::join(family.machines, ", "))},
        family.figures));
    Value machines = Value::List();
    for (const std::string& machine : family.machines) {
      machines.Add(machine);
    }
    Value object = Value::Object();
    object.Set("family", family.name)
        .Set("timing", family.timing)
        .Set(family.name == "kernels" ? "gpus" : "machines", std::move(machines));
    SetMetrics(object, family.figures);
    families.Add(std::move(object));
  }
  Document::Section& section = document.AddSection();
  section.Set("split", evaluation.split)
      .Set("families", std::move(families))
      .Set("rejected_rows", evaluation.rejected)
      .Add(std::move(table));
  for (const Document::List& list : evaluation.not_used) {
    section.Add(list);
  }
  return document;
}

struct EvaluateArguments {
  KernelEvaluationArguments evaluation;
  OutputOptions output;
};

int StatusOf(const KernelEvaluationResult& evaluation) {
  return evaluation.data.rejected.empty() ? kExitOk : kExitPartial;
}

Result<int> EvaluateKernels(const EvaluateArguments& arguments) {
  ORRERY_TRY(const KernelEvaluationResult evaluation, EvaluateKernels(arguments.evaluation));
  ORRERY_TRY_STATUS(Deliver(EvaluationDocument(evaluation), arguments.output));
  return StatusOf(evaluation);
}

/// Splits files into those of collectives and the others.
std::vector<std::string> TakeCollectives(std::vector<std::string>& paths) {
  std::vector<std::string> collectives;
  std::ranges::copy_if(paths, std::back_inserter(collectives), IsCollectiveData);
  std::erase_if(paths, [&](const std::string& path) {
    return std::ranges::find(collectives, path) != collectives.end();
  });
  return collectives;
}

Status AddCollectives(const std::vector<std::string>& paths, FamilyEvaluation& evaluation) {
  ORRERY_TRY(const collective::Measurements data, ReadCollectives(paths, ""));
  ORRERY_TRY(const collective::EvaluationResult evaluated,
             collective::Evaluate(data.rows, collective::kLeastBytes,
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
  ORRERY_TRY_STATUS(Deliver(FamiliesDocument(evaluation), arguments.output));
  return evaluation.rejected == 0 ? kExitOk : kExitPartial;
}

void AddEvaluateKernels(Verb& evaluate) {
  auto arguments = std::make_shared<EvaluateArguments>();
  Verb verb = evaluate.AddVerb("kernels", "Predicted against measured times of operators");
  AddEvaluationOptions(verb, arguments->evaluation).Required();
  verb.AddOption("--predictions", arguments->output.csv_file,
                 "write every evaluated row to this CSV (.gz, .zst)")
      .TypeName("FILE");
  verb.AddOption("--svg", arguments->output.svg_file, "draw errors over times and by operator")
      .TypeName("FILE");
  AddOutputOptions(verb, arguments->output);
  verb.OnRun([arguments] { return EvaluateKernels(*arguments); });
}

void AddEvaluateAll(Verb& evaluate) {
  auto arguments = std::make_shared<EvaluateArguments>();
  Verb verb = evaluate.AddVerb("all", "One line for each family of models");
  AddEvaluationOptions(verb, arguments->evaluation);
  verb.Footer("Without DATA, the tables under data/measured of the source tree are evaluated.");
  AddOutputOptions(verb, arguments->output);
  verb.OnRun([arguments] { return EvaluateAll(*arguments); });
}

}  // namespace

void AddEvaluateCommand(Verb& app) {
  Verb verb = app.AddVerb("evaluate", "Evaluate cost models on measurements");
  verb.RequireVerb();
  AddEvaluateKernels(verb);
  AddEvaluateCollectivesCommand(verb);
  AddEvaluateOverlapCommand(verb);
  AddEvaluateAll(verb);
}

}  // namespace orrery::cli
