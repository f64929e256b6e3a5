#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/error.h"
#include "orrery/base/packing.h"
#include "orrery/cli/command.h"
#include "orrery/cli/evaluate/output.h"
#include "orrery/cli/fit/commands.h"
#include "orrery/cli/kernel_models.h"
#include "orrery/cli/terminal.h"
#include "orrery/kernel/measurement.h"
#include "orrery/kernel/shipped_models.h"
#include "orrery/kernel/sibling_level.h"

namespace orrery::cli {
namespace {

struct FitSiblingsArguments {
  std::vector<std::string> paths;
  std::string output;
  std::vector<std::string> gpus;
};

Result<kernel::Measurements> ReadRows(const FitSiblingsArguments& arguments) {
  ORRERY_TRY(kernel::Measurements data, kernel::ReadMeasurements(arguments.paths));
  std::vector<const hardware::Gpu*> wanted;
  for (const std::string& name : arguments.gpus) {
    ORRERY_TRY(const hardware::Gpu* gpu, GpuNamed(name));
    wanted.push_back(gpu);
  }
  std::erase_if(data.rows, [&](const kernel::Measurement& row) {
    return !wanted.empty() && std::ranges::find(wanted, row.gpu) == wanted.end();
  });
  return data;
}

Result<int> FitSiblings(const FitSiblingsArguments& arguments) {
  ORRERY_TRY(const kernel::Measurements data, ReadRows(arguments));
  ORRERY_TRY(const kernel::ModelSet models, kernel::ShippedModels());
  kernel::SiblingLevels fitted;
  fitted.levels = kernel::FitSiblingLevels(models, data.rows);
  if (fitted.levels.empty()) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("{}: no {} rows of an operator on a GPU for which others speak{}",
                            arguments.paths.front(), kernel::kFewestRowsOfLevel,
                            data.rejected.empty() ? "" : "\n" + RejectedText(data)));
  }
  for (const std::string& path : arguments.paths) {
    fitted.sources.push_back(std::filesystem::path(path).filename().string());
  }
  ORRERY_TRY_STATUS(WriteFile(arguments.output, kernel::SiblingLevelsText(fitted)));
  Print(fmt::format("{}: levels of {} operators from {} rows\n", arguments.output,
                    fitted.levels.size(), data.rows.size()));
  if (!data.rejected.empty()) {
    PrintNotice(
        fmt::format("{} rows were not used:\n{}", data.rejected.size(), RejectedText(data)));
    return kExitPartial;
  }
  return kExitOk;
}

}  // namespace

void AddFitSiblingsCommand(Verb& fit) {
  auto arguments = std::make_shared<FitSiblingsArguments>();
  Verb verb = fit.AddVerb(
      "siblings", "How GPUs of few measurements differ from what other GPUs say of them");
  verb.AddOption("DATA", arguments->paths, "tables as `orrery fit kernels` takes them")
      .Required();
  verb.AddOption("-o,--output", arguments->output, "the file to write")
      .TypeName("FILE")
      .Required();
  verb.AddOption("--gpu", arguments->gpus, "only rows of this GPU; may be repeated")
      .TypeName("NAME")
      .OneValueEach();
  verb.OnRun([arguments] { return FitSiblings(*arguments); });
}

}  // namespace orrery::cli
