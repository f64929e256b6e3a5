#include "orrery/api/schemas.h"

#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/analyze.h"
#include "orrery/api/diff.h"
#include "orrery/api/errors.h"
#include "orrery/api/fields.h"
#include "orrery/api/goodput.h"
#include "orrery/api/info.h"
#include "orrery/api/init.h"
#include "orrery/api/list.h"
#include "orrery/api/predict.h"
#include "orrery/api/search.h"
#include "orrery/api/simulate.h"
#include "orrery/base/error.h"
#include "orrery/base/value.h"

namespace orrery::api {
namespace {

const std::vector<VerbSchema> kVerbs = {
    {"analyze", &RequestSchema<AnalyzeRequest>, &ObjectSchema<AnalyzeResult>},
    {"diff", &RequestSchema<DiffRequest>, &ObjectSchema<DiffResult>},
    {"goodput", &RequestSchema<GoodputRequest>, &ObjectSchema<GoodputResult>},
    {"info", &RequestSchema<InfoRequest>, &ObjectSchema<InfoResult>},
    {"init", &RequestSchema<InitRequest>, &ObjectSchema<InitResult>},
    {"list", &RequestSchema<ListRequest>, &ObjectSchema<ListResult>},
    {"predict kernel", &RequestSchema<PredictKernelsRequest>, &ObjectSchema<PredictKernelsResult>},
    {"predict collective", &RequestSchema<PredictCollectiveRequest>,
     &ObjectSchema<PredictCollectiveResult>},
    {"predict overlap", &RequestSchema<PredictOverlapRequest>, &ObjectSchema<PredictOverlapResult>},
    {"search", &RequestSchema<SearchRequest>, &ObjectSchema<SearchResult>},
    {"simulate", &RequestSchema<SimulateRequest>, &ObjectSchema<SimulateResult>},
};

}  // namespace

const std::vector<VerbSchema>& VerbSchemas() {
  return kVerbs;
}

Result<Value> SchemaOfVerb(std::string_view verb) {
  std::string known;
  for (const VerbSchema& schema : kVerbs) {
    if (schema.verb == verb) {
      return Value::Object()
          .Set("$schema", "https://json-schema.org/draft/2020-12/schema")
          .Set("verb", verb)
          .Set("request", schema.request())
          .Set("result", schema.result());
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", schema.verb);
  }
  return InvalidInput("--schema: '{}' has none yet; verbs that do: {}", verb, known);
}

}  // namespace orrery::api
