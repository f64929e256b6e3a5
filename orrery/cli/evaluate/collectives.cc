#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/error.h"
#include "orrery/cli/collective_data.h"
#include "orrery/cli/command.h"
#include "orrery/cli/evaluate/commands.h"
#include "orrery/cli/evaluate/output.h"
#include "orrery/cli/terminal.h"
#include "orrery/collective/evaluation.h"
#include "orrery/draw/json_writer.h"
#include "orrery/draw/value_output.h"

namespace orrery::cli {
namespace {

struct EvaluateCollectivesArguments {
  std::vector<std::string> paths;
  std::string model;
  std::string split;
  std::string cluster;
  std::int64_t min_bytes = collective::kLeastBytes;
  bool as_json = false;
};

std::string Text(const collective::EvaluationResult& evaluation, const std::string& what) {
  draw::TextTable table = FigureTable({{"machine"}, {"source"}, {"collective"}, {"GPUs"}});
  for (const collective::EvaluatedGroup& group : evaluation.groups) {
    AddFigures(table, {group.machine, group.source, group.collective, std::to_string(group.gpus)},
               group.figures);
  }
  AddFigures(table, {"all", "", "", ""}, evaluation.overall);
  return fmt::format("Evaluated: {}; errors in %\n\n{}", what, table.Render());
}

std::string Json(const collective::EvaluationResult& evaluation) {
  Value document = Value::Object();
  Value overall = Value::Object();
  SetFigures(overall, evaluation.overall);
  document.Set("overall", std::move(overall));
  Value groups = Value::List();
  for (const collective::EvaluatedGroup& group : evaluation.groups) {
    Value entry = Value::Object();
    entry.Set("source", group.source);
    entry.Set("machine", group.machine);
    entry.Set("collective", group.collective);
    entry.Set("gpus", group.gpus);
    SetFigures(entry, group.figures);
    groups.Add(std::move(entry));
  }
  document.Set("groups", std::move(groups));
  draw::JsonWriter json;
  draw::WriteValue(json, document);
  return json.Finish();
}

Result<int> EvaluateCollectives(const EvaluateCollectivesArguments& arguments) {
  ORRERY_TRY(const collective::Measurements data,
             ReadCollectives(arguments.paths, arguments.cluster));
  collective::EvaluationResult evaluation;
  std::string what = arguments.model.empty() ? "all rows, by the shipped constants"
                                             : "all rows, by " + arguments.model;
  if (arguments.split.empty()) {
    ORRERY_TRY(const collective::MachineModels models, LoadMachineModels(arguments.model));
    ORRERY_TRY(evaluation, collective::Evaluate(data.rows, arguments.min_bytes, models));
  } else {
    ORRERY_TRY(const collective::SplitRule rule, collective::SplitRule::Parse(arguments.split));
    ORRERY_TRY(evaluation, collective::EvaluateHeldOut(data.rows, arguments.min_bytes, rule));
    what = "rows that were not fitted, split " + arguments.split;
  }
  Print(arguments.as_json ? Json(evaluation) : Text(evaluation, what));
  if (!data.rejected.empty()) {
    PrintNotice(
        fmt::format("{} rows were not used:\n{}", data.rejected.size(), RejectedText(data)));
    return kExitPartial;
  }
  return kExitOk;
}

}  // namespace

void AddEvaluateCollectivesCommand(Verb& evaluate) {
  auto arguments = std::make_shared<EvaluateCollectivesArguments>();
  Verb verb = evaluate.AddVerb("collectives", "Predicted against measured times of collectives");
  verb.AddOption("DATA", arguments->paths,
                   "nccl-tests logs or tables; docs/formats/measured-collectives.md")
      .Required();
  verb.AddOption("--model", arguments->model,
                   "constants of `orrery fit collectives`, instead of the shipped ones")
      .TypeName("FILE");
  verb.AddOption("--split", arguments->split,
                   "fit on a part and evaluate the rest: random:20, above:gpus:16, each perhaps with "
                   ":seed=7")
      .TypeName("RULE");
  verb.AddOption("--cluster", arguments->cluster, "the machine, where the data do not name it")
      .TypeName("NAME");
  verb.AddOption("--min-bytes", arguments->min_bytes, "leave out smaller messages (1024)");
  verb.AddFlag("--json", arguments->as_json, "print one JSON document");
  verb.OnRun([arguments] { return EvaluateCollectives(*arguments); });
}

}  // namespace orrery::cli
