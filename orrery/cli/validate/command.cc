#include "orrery/cli/command.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/error.h"
#include "orrery/base/progress.h"
#include "orrery/base/text.h"
#include "orrery/cli/kernel_models.h"
#include "orrery/cli/output.h"
#include "orrery/cli/overlap_option.h"
#include "orrery/cli/terminal.h"
#include "orrery/cli/validate/output.h"
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
  simulate::SimulationOptions engine;
  int threads = 0;
  OutputOptions output;
};

bool IsRequested(const workload::RunLabel& label, const ValidateArguments& arguments) {
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

Status Validate(const ValidateArguments& arguments) {
  ORRERY_TRY(const std::unique_ptr<workload::RunTable> table,
             workload::OpenRunTable(arguments.path));
  ORRERY_TRY(const kernel::ModelSet models, LoadKernelModels(arguments.models));
  ProgressLine progress(TerminalProgress());
  simulate::ValidateOptions options;
  options.filter = [&](const workload::RunLabel& label) { return IsRequested(label, arguments); };
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
                fmt::format("{}: no row has the requested source and grade; leave out --source "
                            "or --grade to list them",
                            arguments.path));
  }
  OutputOptions output = arguments.output;
  if (validation.evaluated.empty()) {
    output.svg_file.clear();  // there is nothing to draw
  }
  return Deliver(ValidationDocument(validation), output);
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
  verb.AddOption("--csv", arguments->output.csv_file, "write every row with its error or refusal")
      .TypeName("FILE");
  verb.AddOption("--svg", arguments->output.svg_file,
                 "draw predicted against measured steps by source")
      .TypeName("FILE");
  AddOverlapOption(verb, arguments->engine.overlap);
  verb.AddOption("--threads", arguments->threads, "at most this many (one for each core)")
      .NonNegative();
  AddOutputOptions(verb, arguments->output);
  verb.OnRun([arguments] { return Validate(*arguments); });
}

}  // namespace orrery::cli
