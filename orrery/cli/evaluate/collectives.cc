#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/error.h"
#include "orrery/cli/collective_data.h"
#include "orrery/cli/command.h"
#include "orrery/cli/evaluate/commands.h"
#include "orrery/cli/evaluate/output.h"
#include "orrery/cli/output.h"
#include "orrery/cli/terminal.h"
#include "orrery/collective/evaluation.h"

namespace orrery::cli {
namespace {

using report::Document;

struct EvaluateCollectivesArguments {
  std::vector<std::string> paths;
  std::string model;
  std::string split;
  std::string cluster;
  std::int64_t min_bytes = collective::kLeastBytes;
  OutputOptions output;
};

Document DocumentOf(const collective::EvaluationResult& evaluation, const std::string& what) {
  Document document{.title = fmt::format("Evaluated: {}; errors in %", what),
                    .kind = "Orrery evaluation"};
  Document::Table table{.key = "",
                        .heading = "",
                        .columns = MetricColumns({"machine", "source", "collective", "GPUs"}),
                        .total = MetricCells({"all", "", "", ""}, evaluation.overall),
                        .max_shown = SIZE_MAX};
  Value groups = Value::List();
  for (const collective::EvaluatedGroup& group : evaluation.groups) {
    table.rows.push_back(
        MetricCells({group.machine, group.source, group.collective, group.gpus}, group.figures));
    Value entry = Value::Object();
    entry.Set("source", group.source)
        .Set("machine", group.machine)
        .Set("collective", group.collective)
        .Set("gpus", group.gpus);
    SetMetrics(entry, group.figures);
    groups.Add(std::move(entry));
  }
  document.AddSection()
      .Set("overall", MetricsData(evaluation.overall))
      .Set("groups", std::move(groups))
      .Add(std::move(table));
  return document;
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
  ORRERY_TRY_STATUS(Deliver(DocumentOf(evaluation, what), arguments.output));
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
  AddOutputOptions(verb, arguments->output);
  verb.OnRun([arguments] { return EvaluateCollectives(*arguments); });
}

}  // namespace orrery::cli
