#include "orrery/serve/answers.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "orrery/api/errors.h"
#include "orrery/api/view/questions.h"
#include "orrery/base/document/parse_json.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/base/file/mapped_file.h"
#include "orrery/draw/format.h"
#include "orrery/serve/http/request.h"

namespace orrery::serve {
namespace {

constexpr std::string_view kFolder = "api/";

Response Refused(const Error& error) {
  return {.status = error.kind() == Error::Kind::kNotFound ? 404 : 400,
          .type = "text/plain; charset=utf-8",
          .body = error.message()};
}

// The values of an address that a question knows.
Result<Value> FieldsOf(const Query& query, const Value& schema) {
  Value fields = Value::Object();
  for (const auto& [name, property] : schema.Find("properties")->fields()) {
    if (*property.Find("type") == Value("string")) {
      ORRERY_TRY(std::string text, query.Text(name));
      fields.Set(name, std::move(text));
      continue;
    }
    ORRERY_TRY(const std::optional<std::int64_t> number, query.Number(name));
    if (number) {
      fields.Set(name, *number);
    }
  }
  return fields;
}

Result<Value> BodyOf(const Request& request) {
  if (!request.is_post) {
    return Invalid("{} wants POST", request.path);
  }
  return request.body.empty() ? Value::Object() : ParseJson(request.body);
}

}  // namespace

Response Answers::Answer(const Request& request) {
  for (const Asset& asset : assets_) {
    if (!request.is_post && asset.path == request.path) {
      return {.type = std::string(asset.type), .body = std::string(asset.bytes)};
    }
  }
  Result<Response> response = AnswerApi(request);
  return response ? *std::move(response) : Refused(response.error());
}

Result<Response> Answers::AnswerApi(const Request& request) const {
  if (request.path == "api/export") {
    return Export(request);
  }
  const std::span<const api::view::Question> questions = api::view::Questions();
  const auto question = std::ranges::find_if(questions, [&](const api::view::Question& known) {
    return request.path.starts_with(kFolder) && request.path.substr(kFolder.size()) == known.name;
  });
  if (question == questions.end()) {
    return api::NotFound("there is nothing under this address");
  }
  ORRERY_TRY(const Value fields, question->makes_run
                                     ? BodyOf(request)
                                     : FieldsOf(request.query, question->request_schema()));
  ORRERY_TRY(api::view::AnyReply reply, question->ask(view_, fields));
  if (question->makes_run) {
    ReturnFreedMemoryNow();  // the simulated job and its traces are gone, or another one is
  }
  return reply.is_binary
             ? Response{.type = "application/octet-stream", .body = std::move(reply.bytes)}
             : Response{.body = draw::JsonText(reply.data)};
}

}  // namespace orrery::serve
