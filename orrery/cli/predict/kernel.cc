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

struct PredictKernelsArguments {
  api::PredictKernelsRequest request;
  OutputOptions output;
};

Result<int> RunPredictKernels(const api::Session& session,
                              const PredictKernelsArguments& arguments) {
  ORRERY_TRY(const api::PredictKernelsResult result,
             api::PredictKernels(session, arguments.request));
  return Deliver(api::MakeDocument(result), arguments.output);
}

struct PredictOverlapArguments {
  api::PredictOverlapRequest request;
  OutputOptions output;
};

Result<int> RunPredictOverlap(const api::Session& session,
                              const PredictOverlapArguments& arguments) {
  ORRERY_TRY(const api::PredictOverlapResult result,
             api::PredictOverlap(session, arguments.request));
  return Deliver(api::MakeDocument(result), arguments.output);
}

}  // namespace

void AddPredictKernelCommand(Verb& predict) {
  const auto arguments = std::make_shared<PredictKernelsArguments>();
  Verb verb = predict.AddVerb("kernel", "The time of single operators on a GPU");
  AddFieldOption(verb, arguments->request, "operators", "OPERATOR");
  verb.FindOption("OPERATOR").Required();
  AddFieldOption(verb, arguments->request, "gpu");
  verb.FindOption("--gpu").Required();
  AddFieldOptions(verb, arguments->request, "sustained", "model");
  AddOutputOptions(verb, arguments->output);
  verb.OnRun(
      [arguments](const api::Session& session) { return RunPredictKernels(session, *arguments); });
}

void AddPredictOverlapCommand(Verb& predict) {
  const auto arguments = std::make_shared<PredictOverlapArguments>();
  Verb verb = predict.AddVerb("overlap", "The duration of a kernel concurrent with communication");
  AddFieldOption(verb, arguments->request, "operator", "OPERATOR");
  verb.FindOption("OPERATOR").Required();
  AddFieldOption(verb, arguments->request, "gpu");
  verb.FindOption("--gpu").Required();
  AddFieldOptions(verb, arguments->request, "alone_us", "model");
  AddOutputOptions(verb, arguments->output);
  verb.OnRun(
      [arguments](const api::Session& session) { return RunPredictOverlap(session, *arguments); });
}

}  // namespace orrery::cli
