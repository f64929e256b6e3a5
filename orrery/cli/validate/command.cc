#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/text.h"
#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/progress.h"
#include "orrery/cli/command.h"
#include "orrery/cli/kernel_models.h"
#include "orrery/cli/overlap_option.h"
#include "orrery/cli/plot_page.h"
#include "orrery/cli/terminal.h"
#include "orrery/cli/validate/output.h"
#include "orrery/cli/validate/plot.h"
#include "orrery/simulate/validation.h"
#include "orrery/workload/import/unpacked_file.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/run_table.h"

namespace orrery::cli {
namespace {

struct ValidateArguments {
  std::string path;
  std::string source;
  std::vector<std::string> grades;
  std::vector<std::string> models;
  std::string frameworks;
  std::string table;
  std::string plot;
  simulate::SimulationOptions engine;
  int threads = 0;
  bool as_json = false;
};

bool IsAskedFor(const workload::RunLabel& label, const ValidateArguments& arguments) {
  const bool has_source =
      LowerCase(label.source).find(LowerCase(arguments.source)) != std::string::npos;
  const bool has_grade = arguments.grades.empty() ||
                         std::ranges::find(arguments.grades, label.grade) != arguments.grades.end();
  return has_source && has_grade;
}

// The scalars of a file take the place of the shipped ones.
Result<simulate::JobChange> FrameworkChange(const std::string& path) {
  if (path.empty()) {
    return simulate::JobChange();
  }
  ORRERY_TRY(const std::string text, workload::ReadUnpackedFile(path));
  Result<std::vector<workload::Framework>> frameworks = workload::FrameworksWithFits(text);
  if (!frameworks) {
    return FailWithin(path, frameworks);
  }
  return simulate::JobChange([known = *std::move(frameworks)](workload::Job& job) {
    const auto found = std::ranges::find(known, job.framework.name, &workload::Framework::name);
    if (found != known.end()) {
      workload::CopyScalars(*found, job.framework);
    }
  });
}

Result<int> Validate(const ValidateArguments& arguments) {
  ORRERY_TRY(const std::unique_ptr<workload::RunTable> table,
             workload::OpenRunTable(arguments.path));
  ORRERY_TRY(const kernel::ModelSet models, LoadKernelModels(arguments.models));
  ProgressLine progress(TerminalProgress());
  simulate::ValidateOptions options;
  options.filter = [&](const workload::RunLabel& label) { return IsAskedFor(label, arguments); };
  ORRERY_TRY(options.change, FrameworkChange(arguments.frameworks));
  options.threads = arguments.threads;
  options.engine = arguments.engine;
  ORRERY_TRY(const std::shared_ptr<const overlap::Model> overlap_model,
             LoadOverlapModel(options.engine));
  options.progress = [&](std::size_t done, std::size_t total) {
    progress.Update(static_cast<std::int64_t>(done), static_cast<std::int64_t>(total), "rows");
  };
  const simulate::Validation validation = simulate::Validate(*table, models, options);
  progress.Clear();
  if (validation.rows == 0) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("{}: no row is of the source and grade that are asked for; leave out "
                            "--source or --grade to see which there are",
                            arguments.path));
  }
  if (!arguments.table.empty()) {
    ORRERY_TRY_STATUS(WriteCsvFile(ValidationTable(validation), arguments.table));
  }
  if (!arguments.plot.empty() && !validation.evaluated.empty()) {
    ORRERY_TRY_STATUS(WritePlot(ValidationPlot(validation), arguments.plot));
  }
  Print(arguments.as_json ? ValidationJson(validation) : ValidationText(validation));
  return kExitOk;
}

}  // namespace

void AddValidateCommand(Verb& app) {
  auto arguments = std::make_shared<ValidateArguments>();
  Verb verb = app.AddVerb("validate", "Simulated against measured steps of published runs");
  verb.AddOption("TRUTH", arguments->path,
                   "a table of measured runs (.csv, .csv.gz); docs/formats/published-runs.md")
      .Required();
  verb.AddOption("--source", arguments->source, "rows whose source has this text in it only")
      .TypeName("TEXT");
  verb.AddOption("--grade", arguments->grades, "rows of these grades only: A,A-")
      .TypeName("LIST")
      .Delimiter(',');
  verb.AddOption("--model", arguments->models,
                   "kernel models of `orrery fit`, instead of the shipped ones")
      .TypeName("FILE");
  verb.AddOption("--frameworks", arguments->frameworks,
                   "scalars of `orrery fit frameworks`, instead of the shipped ones")
      .TypeName("FILE");
  verb.AddOption("--csv", arguments->table, "write every row with its error or refusal")
      .TypeName("FILE");
  verb.AddOption("--svg", arguments->plot, "draw predicted against measured steps by source")
      .TypeName("FILE");
  AddOverlapOption(verb, arguments->engine.overlap);
  verb.AddOption("--threads", arguments->threads, "at most this many (one for each core)")
      .NonNegative();
  verb.AddFlag("--json", arguments->as_json, "print one JSON document");
  verb.OnRun([arguments] { return Validate(*arguments); });
}

}  // namespace orrery::cli
