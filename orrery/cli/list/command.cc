#include <memory>

#include "orrery/api/list.h"
#include "orrery/api/session.h"
#include "orrery/base/error.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/request_options.h"
#include "orrery/cli/verb.h"
#include "orrery/draw/format.h"

namespace orrery::cli {
namespace {

struct ListArguments {
  api::ListRequest request;
  OutputOptions output;
};

Result<int> RunList(const api::Session& session, const ListArguments& arguments) {
  ORRERY_TRY(const api::ListResult result, api::List(session, arguments.request));
  if (result.what == "job-schema") {
    Print(draw::JsonText(result.job_schema) + "\n");
    return kExitOk;
  }
  return Deliver(api::MakeDocument(result), arguments.output);
}

}  // namespace

void AddListCommand(Verb& app) {
  const auto arguments = std::make_shared<ListArguments>();
  Verb verb = app.AddVerb(
      "list", "What is known: GPUs, clusters, hosts, models, frameworks, metrics, formats");
  verb.Footer(
      "Names of GPUs, clusters, hosts, models and frameworks are those that options and job files "
      "take.\n"
      "Keys are those of a job file's sections; --json has their names in training tools.\n"
      "job-schema is the JSON Schema of a job file, for editors.\n\n"
      "Examples:\n"
      "  orrery list gpus\n"
      "  orrery list models --json | jq '.models[] | select(.parameters < 1e9) .name'");
  AddFieldOption(verb, arguments->request, "what", "WHAT");
  verb.FindOption("WHAT").Required();
  AddOutputOptions(verb, arguments->output);
  AddCsvOptions(verb, arguments->output);
  verb.OnRun([arguments](const api::Session& session) { return RunList(session, *arguments); });
}

}  // namespace orrery::cli
