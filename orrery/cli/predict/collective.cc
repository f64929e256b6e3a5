#include <memory>

#include "orrery/api/predict.h"
#include "orrery/api/session.h"
#include "orrery/base/error.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/request_options.h"
#include "orrery/cli/verb.h"

namespace orrery::cli {
namespace {

struct PredictCollectiveArguments {
  api::PredictCollectiveRequest request;
  OutputOptions output;
};

Result<int> RunPredictCollective(const api::Session& session,
                                 const PredictCollectiveArguments& arguments) {
  ORRERY_TRY(const api::PredictCollectiveResult result,
             api::PredictCollective(session, arguments.request));
  return Deliver(api::MakeDocument(result), arguments.output);
}

}  // namespace

void AddPredictCollectiveCommand(Verb& predict) {
  const auto arguments = std::make_shared<PredictCollectiveArguments>();
  Verb verb = predict.AddVerb("collective", "The time of a collective on a cluster");
  AddFieldOption(verb, arguments->request, "collective", "COLLECTIVE");
  verb.FindOption("COLLECTIVE").Required();
  AddFieldOptions(verb, arguments->request, "cluster", "matrix");
  AddFieldOption(verb, arguments->request, "emulate", "--emulate,--play MODEL");
  AddFieldOptions(verb, arguments->request, "with", "flow");
  AddOutputOptions(verb, arguments->output);
  verb.OnRun([arguments](const api::Session& session) {
    return RunPredictCollective(session, *arguments);
  });
}

}  // namespace orrery::cli
