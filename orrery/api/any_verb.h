#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/api/call.h"
#include "orrery/api/fields.h"
#include "orrery/api/input/shared_run.h"
#include "orrery/api/session.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/report/document.h"

// Verbs without their types, for front ends that receive requests as data: Python, agents, schemas.

namespace orrery::api {

/// The end of a call, beside an error. Values are exit statuses of the program.
enum class Outcome : std::uint8_t {
  kComplete = 0,
  kWorse = 1,        // a metric is worse than the request allows
  kPartial = 3,      // something of the input is missing, or a budget ended the work
  kOutOfMemory = 4,  // a job does not fit into the memory of its GPUs
};

struct AnyRequest {
  Value fields = Value::Object();  // by the names of the list of fields
  /// Runs that the caller has read, by the path that stands for them; empty where there is none.
  std::function<SharedRun(const std::string& path)> shared_run = {};
  bool needs_pictures = false;  // of the document
  CallOptions call = {};
};

struct AnyAnswer {
  report::Document document;  // for people
  Value data = {};            // as the schema of results says; null where the document alone has it
  Outcome outcome = Outcome::kComplete;
  std::vector<std::string> notices = {};  // sentences beside the answer
  /// Writes the simulated step as a trace; empty of verbs without one.
  std::function<Status(const std::string& path)> write_trace = {};
};

struct AnyVerb {
  std::string_view name;
  Value (*request_schema)() = nullptr;
  Value (*result_schema)() = nullptr;
  bool has_trace = false;
  std::function<Result<AnyAnswer>(const Session& session, const AnyRequest& request)> call = {};
};

namespace internal {

template <typename Answer>
concept HasTrace = requires(const Answer& answer, const std::string& path) {
  { WriteTrace(answer, path) } -> std::same_as<Status>;
};

template <typename Answer>
[[nodiscard]] Outcome OutcomeOf(const Answer& answer) {
  bool is_out_of_memory = false;
  bool is_partial = false;
  bool is_worse = false;
  if constexpr (requires { answer.AnyOutOfMemory(); }) {
    is_out_of_memory = answer.AnyOutOfMemory();
  } else if constexpr (requires { static_cast<bool>(answer.out_of_memory); }) {
    is_out_of_memory = static_cast<bool>(answer.out_of_memory);
  }
  if constexpr (requires { answer.IsPartial(); }) {
    is_partial = answer.IsPartial();
  } else if constexpr (requires { answer.is_partial; }) {
    is_partial = answer.is_partial;
  }
  if constexpr (requires { answer.worst.empty(); }) {
    is_worse = !answer.worst.empty();
  }
  return is_out_of_memory ? Outcome::kOutOfMemory
         : is_worse       ? Outcome::kWorse
         : is_partial     ? Outcome::kPartial
                          : Outcome::kComplete;
}

/// Passes on what is part of a request beside its fields.
template <typename Request>
void SetBeside(const AnyRequest& from, Request& request) {
  request.call = from.call;
  if constexpr (requires { request.needs_pictures; }) {
    request.needs_pictures = from.needs_pictures;
  }
  if (!from.shared_run) {
    return;
  }
  if constexpr (requires { request.shared.aligned; }) {
    if (request.run.paths.size() == 1) {
      request.shared = from.shared_run(request.run.paths.front());
    }
  }
  if constexpr (requires { request.shared_before; }) {
    request.shared_before = from.shared_run(request.path_before);
    request.shared_after = from.shared_run(request.path_after);
  }
}

template <typename Answer>
[[nodiscard]] AnyAnswer MakeAnswer(const Answer& answer, report::Document document) {
  AnyAnswer any{
      .document = std::move(document), .data = ToObject(answer), .outcome = OutcomeOf(answer)};
  if constexpr (requires { answer.worst.empty(); }) {
    if (!answer.worst.empty()) {
      any.notices.push_back(answer.worst);
    }
  }
  if constexpr (requires { answer.notices.begin(); }) {
    any.notices.insert(any.notices.end(), answer.notices.begin(), answer.notices.end());
  }
  if constexpr (HasTrace<Answer>) {
    any.write_trace = [answer](const std::string& path) { return WriteTrace(answer, path); };
  }
  return any;
}

}  // namespace internal

/// Makes one of a verb: reading and schemas come from the lists of fields.
template <typename Request, typename Answer>
[[nodiscard]] AnyVerb MakeVerb(std::string_view name,
                               Result<Answer> (*verb)(const Session&, const Request&)) {
  AnyVerb any{.name = name,
              .request_schema = &RequestSchema<Request>,
              .result_schema = &ObjectSchema<Answer>,
              .has_trace = internal::HasTrace<Answer>};
  any.call = [verb](const Session& session, const AnyRequest& from) -> Result<AnyAnswer> {
    ORRERY_TRY(Request request, FromValue<Request>(from.fields));
    internal::SetBeside(from, request);
    ORRERY_TRY(const Answer answer, verb(session, request));
    return internal::MakeAnswer(answer, MakeDocument(answer));
  };
  return any;
}

}  // namespace orrery::api
