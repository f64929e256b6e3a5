#include <memory>

#include "orrery/api/session.h"
#include "orrery/api/validate.h"
#include "orrery/base/concurrency/progress.h"
#include "orrery/base/concurrency/work_dealer.h"
#include "orrery/base/error.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/request_options.h"
#include "orrery/cli/verb.h"
#include "orrery/distribute/deal.h"

namespace orrery::cli {
namespace {

struct ValidateArguments {
  api::ValidateRequest request;
  bool ranks_plans = false;
  OutputOptions output;
};

Result<int> RunValidate(const api::Session& session, const ValidateArguments& arguments,
                        WorkDealer& dealer) {
  api::ValidateRequest request = arguments.request;
  ProgressLine line(TerminalProgress(dealer), "validating");
  request.call.progress = ReportTo(line);
  OutputOptions output = arguments.output;
  Document document;
  if (arguments.ranks_plans) {
    if (!output.svg_file.empty()) {
      return InvalidInput("--rank has no picture: leave out --svg, or write a page with --html");
    }
    ORRERY_TRY(const api::RankPlansResult result, api::RankPlansWith(session, request, dealer));
    document = dealer.is_root() ? api::MakeDocument(result) : Document();
  } else {
    ORRERY_TRY(const api::ValidateResult result, api::ValidateWith(session, request, dealer));
    document = dealer.is_root() ? api::MakeDocument(result) : Document();
    if (result.predictions.empty()) {
      output.svg_file.clear();  // there is nothing to draw
    }
  }
  line.Clear();
  return dealer.is_root() ? Deliver(document, output) : kExitOk;
}

// Lists are one word: "--team NVIDIA,KAIST".
void AddRowOptions(Verb& verb, api::ValidateRequest& request) {
  AddFieldOption(verb, request, "truth", "TRUTH");
  AddFieldOptions(verb, request, "source", "leave_team_out");
  for (const char* const option : {"--team", "--stack", "--grade"}) {
    verb.FindOption(option).Delimiter(',');
  }
}

}  // namespace

void AddValidateCommand(Verb& app) {
  auto arguments = std::make_shared<ValidateArguments>();
  api::ValidateRequest& request = arguments->request;
  Verb verb = app.AddVerb("validate", "Simulated against measured steps of published runs");
  AddRowOptions(verb, request);
  verb.AddFlag(
      "--rank", arguments->ranks_plans,
      "evaluate the order of plans instead of times: groups of six rows or more that differ "
      "only in their plan, and what choosing our first costs over the measured best");
  AddFieldOption(verb, request, "set");
  AddFieldOption(verb, request, "without");
  verb.FindOption("--without").Delimiter(',');
  verb.AddOption(
      "--csv FILE", arguments->output.csv_file,
      "write every row with its error or refusal; with --rank every plan of every group");
  verb.AddOption("--svg FILE", arguments->output.svg_file,
                 "draw predicted against measured steps by source");
  AddFieldOptions(verb, request, "overlap", "threads");
  AddOutputOptions(verb, arguments->output);
  verb.OnRun([arguments](const api::Session& session) {
    return distribute::WithDealer(arguments->request.threads, [&](WorkDealer& dealer) {
      return RunValidate(session, *arguments, dealer);
    });
  });
}

}  // namespace orrery::cli
