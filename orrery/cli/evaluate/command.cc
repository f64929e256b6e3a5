#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "orrery/api/evaluate.h"
#include "orrery/api/session.h"
#include "orrery/base/concurrency/progress.h"
#include "orrery/base/error.h"
#include "orrery/base/file/folder.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/request_options.h"
#include "orrery/cli/verb.h"

namespace orrery::cli {
namespace {

struct EvaluateKernelsArguments {
  api::EvaluateKernelsRequest request;
  OutputOptions output;
};

Result<int> RunEvaluateKernels(const api::Session& session,
                               const EvaluateKernelsArguments& arguments) {
  api::EvaluateKernelsRequest request = arguments.request;
  ProgressLine line(TerminalProgress(), "reading");
  request.call.progress = ReportTo(line);
  ORRERY_TRY(const api::EvaluateKernelsResult result, api::EvaluateKernels(session, request));
  line.Clear();
  return Deliver(api::MakeDocument(result), arguments.output, result.is_partial);
}

struct EvaluateCollectivesArguments {
  api::EvaluateCollectivesRequest request;
  OutputOptions output;
};

Result<int> RunEvaluateCollectives(const api::Session& session,
                                   const EvaluateCollectivesArguments& arguments) {
  api::EvaluateCollectivesRequest request = arguments.request;
  ProgressLine line(TerminalProgress(), "reading");
  request.call.progress = ReportTo(line);
  ORRERY_TRY(const api::EvaluateCollectivesResult result,
             api::EvaluateCollectives(session, request));
  line.Clear();
  ORRERY_TRY(const int status,
             Deliver(api::MakeDocument(result), arguments.output, result.is_partial));
  for (const std::string& notice : result.notices) {
    PrintNotice(notice);
  }
  return status;
}

struct EvaluateAllArguments {
  api::EvaluateAllRequest request;
  OutputOptions output;
};

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

Result<int> RunEvaluateAll(const api::Session& session, const EvaluateAllArguments& arguments) {
  api::EvaluateAllRequest request = arguments.request;
  if (request.kernels.paths.empty()) {
    ORRERY_TRY(request.kernels.paths, OwnTables());
    request.is_fitted_data = true;
  }
  ProgressLine line(TerminalProgress(), "reading");
  request.call.progress = ReportTo(line);
  ORRERY_TRY(const api::EvaluateAllResult result, api::EvaluateAll(session, request));
  line.Clear();
  return Deliver(api::MakeDocument(result), arguments.output, result.is_partial);
}

struct EvaluateJitterArguments {
  api::EvaluateJitterRequest request;
  OutputOptions output;
};

Result<int> RunEvaluateJitter(const api::Session& session,
                              const EvaluateJitterArguments& arguments) {
  ORRERY_TRY(const api::EvaluateJitterResult result,
             api::EvaluateJitter(session, arguments.request));
  return Deliver(api::MakeDocument(result), arguments.output);
}

}  // namespace

void AddEvaluateKernelsCommand(Verb& evaluate) {
  auto arguments = std::make_shared<EvaluateKernelsArguments>();
  Verb verb = evaluate.AddVerb("kernels", "Predicted against measured times of operators");
  AddFieldOption(verb, arguments->request, "paths", "DATA");
  verb.FindOption("DATA").Required();
  AddFieldOptions(verb, arguments->request, "model", "max_spread");
  verb.AddOption("--predictions FILE", arguments->output.csv_file,
                 "write every evaluated row to this CSV (.gz, .zst)");
  verb.AddOption("--svg FILE", arguments->output.svg_file,
                 "draw errors over times and by operator");
  AddOutputOptions(verb, arguments->output);
  verb.OnRun(
      [arguments](const api::Session& session) { return RunEvaluateKernels(session, *arguments); });
}

void AddEvaluateCollectivesCommand(Verb& evaluate) {
  auto arguments = std::make_shared<EvaluateCollectivesArguments>();
  Verb verb = evaluate.AddVerb("collectives", "Predicted against measured times of collectives");
  AddFieldOption(verb, arguments->request, "paths", "DATA");
  verb.FindOption("DATA").Required();
  AddFieldOptions(verb, arguments->request, "model", "min_bytes");
  AddOutputOptions(verb, arguments->output);
  verb.OnRun([arguments](const api::Session& session) {
    return RunEvaluateCollectives(session, *arguments);
  });
}

void AddEvaluateAllCommand(Verb& evaluate) {
  auto arguments = std::make_shared<EvaluateAllArguments>();
  Verb verb = evaluate.AddVerb("all", "One line for each family of models");
  AddFieldOption(verb, arguments->request, "paths", "DATA");
  AddFieldOptions(verb, arguments->request, "model", "max_spread");
  verb.Footer("Without DATA, the tables under data/measured of the source tree are evaluated.");
  AddOutputOptions(verb, arguments->output);
  verb.OnRun(
      [arguments](const api::Session& session) { return RunEvaluateAll(session, *arguments); });
}

void AddEvaluateJitterCommand(Verb& evaluate) {
  auto arguments = std::make_shared<EvaluateJitterArguments>();
  Verb verb = evaluate.AddVerb(
      "jitter", "How steps vary: predicted against logged ones of systems that were not fitted");
  AddFieldOption(verb, arguments->request, "path", "STEPS");
  verb.FindOption("STEPS").Required();
  AddOutputOptions(verb, arguments->output);
  AddCsvOptions(verb, arguments->output);
  verb.OnRun(
      [arguments](const api::Session& session) { return RunEvaluateJitter(session, *arguments); });
}

}  // namespace orrery::cli
