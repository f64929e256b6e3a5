#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include <fmt/core.h>

#include "orrery/api/evaluate.h"
#include "orrery/api/session.h"
#include "orrery/base/concurrency/progress.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_sink.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/request_options.h"
#include "orrery/cli/verb.h"
#include "orrery/report/document.h"

namespace orrery::cli {
namespace {

struct EvaluateOverlapArguments {
  api::EvaluateOverlapRequest pairs;
  api::EvaluateEchoRequest echo;
  std::string folder;  // for metrics, predictions and pictures of pairs
  OutputOptions output;
};

Status WriteFolder(const std::string& name, const Document& document) {
  std::error_code failed;
  std::filesystem::create_directories(name, failed);
  if (failed) {
    return Fail(Error::Kind::kSystem,
                fmt::format("{}: cannot be created: {}", name, failed.message()));
  }
  const std::filesystem::path folder = name;
  ORRERY_TRY_STATUS(WriteFile(folder / "evaluation.json", report::RenderJson(document)));
  ORRERY_TRY_STATUS(WriteFile(folder / "evaluation.txt", report::RenderText(document)));
  return WriteOutputFiles(
      document, {.csv_file = folder / "predictions.csv", .svg_file = folder / "errors.svg"});
}

Result<int> RunEvaluatePairs(const api::Session& session,
                             const EvaluateOverlapArguments& arguments) {
  api::EvaluateOverlapRequest request = arguments.pairs;
  ProgressLine line(TerminalProgress(), "reading");
  request.call.progress = ReportTo(line);
  ORRERY_TRY(const api::EvaluateOverlapResult result, api::EvaluateOverlap(session, request));
  line.Clear();
  const Document document = api::MakeDocument(result);
  if (!arguments.folder.empty()) {
    ORRERY_TRY_STATUS(WriteFolder(arguments.folder, document));
  }
  ORRERY_TRY(const int status, Deliver(document, arguments.output, result.is_partial));
  for (const std::string& notice : result.notices) {
    PrintNotice(notice);
  }
  return status;
}

Result<int> RunEvaluateEcho(const api::Session& session,
                            const EvaluateOverlapArguments& arguments) {
  api::EvaluateEchoRequest request = arguments.echo;
  ProgressLine line(TerminalProgress(), "reading");
  request.call.progress = ReportTo(line);
  ORRERY_TRY(const api::EvaluateEchoResult result, api::EvaluateEcho(session, request));
  line.Clear();
  return Deliver(api::MakeDocument(result), arguments.output, result.is_partial);
}

}  // namespace

void AddEvaluateOverlapCommand(Verb& evaluate) {
  auto arguments = std::make_shared<EvaluateOverlapArguments>();
  Verb verb = evaluate.AddVerb(
      "overlap", "Predicted against measured times of kernels concurrent with communication");
  AddFieldOption(verb, arguments->pairs, "paths", "DATA");
  AddFieldOptions(verb, arguments->pairs, "counters", "seed");
  verb.FindOption("--held-out").Excludes("--model");
  verb.AddOption("--out DIR", arguments->folder,
                 "write metrics, predictions and the pictures into this folder");
  AddFieldOption(verb, arguments->echo, "folder", "--echo DIR");
  AddFieldOption(verb, arguments->echo, "repeats");
  verb.AddOption("--predictions FILE", arguments->output.csv_file,
                 "write every row to this CSV (.gz, .zst)");
  verb.AddOption("--svg FILE", arguments->output.svg_file, "draw how the errors are spread");
  AddOutputOptions(verb, arguments->output);
  verb.OnRun([arguments](const api::Session& session) {
    return arguments->echo.folder.empty() ? RunEvaluatePairs(session, *arguments)
                                          : RunEvaluateEcho(session, *arguments);
  });
}

}  // namespace orrery::cli
