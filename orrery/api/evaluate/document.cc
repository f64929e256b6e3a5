#include "orrery/report/document.h"

#include "orrery/api/evaluate.h"
#include "orrery/api/evaluate_echo.h"
#include "orrery/api/fields.h"
#include "orrery/api/fields/documents.h"

namespace orrery::api {
namespace {

template <typename Evaluated>
Document WithData(const Evaluated& result) {
  Document document = *result.document;
  document.data = ToObject(result);
  return document;
}

}  // namespace

Document MakeDocument(const EvaluateKernelsResult& result) {
  return WithData(result);
}

Document MakeDocument(const EvaluateCollectivesResult& result) {
  return WithData(result);
}

Document MakeDocument(const EvaluateAllResult& result) {
  return WithData(result);
}

Document MakeDocument(const EvaluateOverlapResult& result) {
  return WithData(result);
}

Document MakeDocument(const EvaluateEchoResult& result) {
  return WithData(result);
}

}  // namespace orrery::api
