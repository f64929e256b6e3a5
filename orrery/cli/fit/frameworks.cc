#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/error.h"
#include "orrery/base/packing.h"
#include "orrery/cli/command.h"
#include "orrery/cli/fit/commands.h"
#include "orrery/cli/overlap_option.h"
#include "orrery/cli/terminal.h"
#include "orrery/kernel/shipped_models.h"
#include "orrery/simulate/framework_fit.h"

namespace orrery::cli {
namespace {

struct FitFrameworksArguments {
  std::vector<std::string> paths;
  std::string output;
  std::vector<std::string> only;
  std::vector<std::string> without;
  std::size_t most_rows = 0;
  simulate::SimulationOptions engine;
};

std::string FitText(const simulate::FrameworkFit& fit) {
  std::string text =
      fmt::format("{}: {} rows, mean error {:.1f} % before, {:.1f} % after\n", fit.framework.name,
                  fit.rows, 100 * fit.error_before, 100 * fit.error_after);
  for (const workload::FittedScalar& scalar : workload::FittedScalars()) {
    text += fmt::format("  {:<22}{:.4g}\n", scalar.key, fit.framework.*scalar.member);
  }
  return text;
}

Result<int> FitFrameworks(const FitFrameworksArguments& arguments) {
  std::vector<std::unique_ptr<workload::RunTable>> tables;
  for (const std::string& path : arguments.paths) {
    ORRERY_TRY(std::unique_ptr<workload::RunTable> table, workload::OpenRunTable(path));
    tables.push_back(std::move(table));
  }
  ORRERY_TRY(const kernel::ModelSet models, kernel::ShippedModels());
  simulate::FrameworkFitOptions options;
  options.engine = arguments.engine;
  ORRERY_TRY(const std::shared_ptr<const overlap::Model> overlap_model,
             LoadOverlapModel(options.engine));
  options.only = arguments.only;
  options.without_sources = arguments.without;
  if (arguments.most_rows > 0) {
    options.most_rows_of_source = arguments.most_rows;
  }
  options.progress = [](const std::string& text) { fmt::print(stderr, "{}\n", text); };
  const std::vector<simulate::FrameworkFit> fits = simulate::FitFrameworks(tables, models, options);
  if (fits.empty()) {
    return Fail(
        Error::Kind::kInvalidInput,
        fmt::format("{}: no row of grade A or A- that can be simulated names a framework of "
                    "the catalogue",
                    arguments.paths.front()));
  }
  for (const simulate::FrameworkFit& fit : fits) {
    fmt::print("{}", FitText(fit));
  }
  if (!arguments.output.empty()) {
    ORRERY_TRY_STATUS(WriteFile(arguments.output, simulate::FitsText(fits)));
  }
  return kExitOk;
}

}  // namespace

void AddFitFrameworksCommand(Verb& fit) {
  auto arguments = std::make_shared<FitFrameworksArguments>();
  Verb verb = fit.AddVerb(
      "frameworks", "Fit what frameworks reach of kernels and collectives alone to published runs");
  verb.AddOption("TABLE", arguments->paths,
                   "tables of published runs; docs/formats/published-runs.md")
      .Required();
  verb.AddOption("-o,--output", arguments->output, "write the scalars to this file")
      .TypeName("FILE");
  verb.AddOption("--only", arguments->only, "only frameworks whose name contains this")
      .TypeName("TEXT");
  verb.AddOption("--without", arguments->without, "leave out sources whose name contains this")
      .TypeName("TEXT");
  verb.AddOption("--rows", arguments->most_rows, "most rows of a source (120)").TypeName("INT");
  AddOverlapOption(verb, arguments->engine.overlap);
  verb.OnRun([arguments] { return FitFrameworks(*arguments); });
}

}  // namespace orrery::cli
