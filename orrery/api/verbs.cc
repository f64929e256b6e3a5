#include "orrery/api/verbs.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/analyze.h"
#include "orrery/api/any_verb.h"
#include "orrery/api/diff.h"
#include "orrery/api/errors.h"
#include "orrery/api/evaluate.h"
#include "orrery/api/fields.h"
#include "orrery/api/fit.h"
#include "orrery/api/fit_overlap.h"
#include "orrery/api/goodput.h"
#include "orrery/api/info.h"
#include "orrery/api/init.h"
#include "orrery/api/list.h"
#include "orrery/api/memory.h"
#include "orrery/api/predict.h"
#include "orrery/api/search.h"
#include "orrery/api/simulate.h"
#include "orrery/api/validate.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"

namespace orrery::api {
namespace {

// Metrics that were asked for by name need no report of the run.
Result<AnyAnswer> CallAnalyze(const Session& session, const AnyRequest& from) {
  ORRERY_TRY(AnalyzeRequest request, FromValue<AnalyzeRequest>(from.fields));
  internal::SetBeside(from, request);
  const bool is_table = !request.metrics.empty() || !request.compat.empty();
  request.needs_report = !is_table || from.needs_pictures;
  ORRERY_TRY(const AnalyzeResult result, Analyze(session, request));
  return internal::MakeAnswer(
      result, request.needs_report ? MakeDocument(result) : MakeMetricsDocument(result));
}

// Simulators that are emulated have documents of their own.
Result<AnyAnswer> CallSimulate(const Session& session, const AnyRequest& from) {
  ORRERY_TRY(SimulateRequest request, FromValue<SimulateRequest>(from.fields));
  internal::SetBeside(from, request);
  if (!request.emulate.empty()) {
    ORRERY_TRY(report::Document document, EmulateSimulator(request));
    return AnyAnswer{.document = std::move(document)};
  }
  ORRERY_TRY(const SimulateResult result, Simulate(session, request));
  return internal::MakeAnswer(result, MakeDocument(result));
}

AnyVerb With(AnyVerb verb,
             Result<AnyAnswer> (*call)(const Session& session, const AnyRequest& request)) {
  verb.call = call;
  return verb;
}

std::vector<AnyVerb> MakeVerbs() {
  return {
      With(MakeVerb("analyze", &Analyze), &CallAnalyze),
      MakeVerb("diff", &Diff),
      MakeVerb("evaluate kernels", &EvaluateKernels),
      MakeVerb("evaluate collectives", &EvaluateCollectives),
      MakeVerb("evaluate all", &EvaluateAll),
      MakeVerb("evaluate overlap", &EvaluateOverlap),
      MakeVerb("evaluate echo", &EvaluateEcho),
      MakeVerb("evaluate jitter", &EvaluateJitter),
      MakeVerb("fit collectives", &FitCollectives),
      MakeVerb("fit frameworks", &FitFrameworks),
      MakeVerb("fit host", &FitHost),
      MakeVerb("fit jitter", &FitJitter),
      MakeVerb("fit kernels", &FitKernels),
      MakeVerb("fit overlap", &FitOverlap),
      MakeVerb("fit overlap from traces", &FitOverlapFromTraces),
      MakeVerb("fit power", &FitPower),
      MakeVerb("fit siblings", &FitSiblings),
      MakeVerb("goodput", &Goodput),
      MakeVerb("info", &Info),
      MakeVerb("init", &Init),
      MakeVerb("list", &List),
      MakeVerb("memory", &Memory),
      MakeVerb("predict", &PredictTrace),
      MakeVerb("predict kernel", &PredictKernels),
      MakeVerb("predict collective", &PredictCollective),
      MakeVerb("predict overlap", &PredictOverlap),
      MakeVerb("search", &Search),
      With(MakeVerb("simulate", &Simulate), &CallSimulate),
      MakeVerb("simulate together", &SimulateTogether),
      MakeVerb("validate", &Validate),
      MakeVerb("validate rank", &RankPlans),
  };
}

}  // namespace

const std::vector<AnyVerb>& Verbs() {
  static const std::vector<AnyVerb> verbs = MakeVerbs();
  return verbs;
}

Result<const AnyVerb*> VerbNamed(std::string_view name) {
  std::string known;
  for (const AnyVerb& verb : Verbs()) {
    if (verb.name == name) {
      return &verb;
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", verb.name);
  }
  return InvalidInput("'{}' is not a verb of the library; its verbs: {}", name, known);
}

Value SchemaOf(const AnyVerb& verb) {
  return Value::Object()
      .Set("$schema", "https://json-schema.org/draft/2020-12/schema")
      .Set("verb", verb.name)
      .Set("request", verb.request_schema())
      .Set("result", verb.result_schema());
}

}  // namespace orrery::api
