#pragma once

#include <concepts>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/api/call.h"
#include "orrery/api/fields.h"
#include "orrery/api/session.h"
#include "orrery/base/byte_sink.h"
#include "orrery/base/error.h"
#include "orrery/base/value.h"
#include "orrery/report/document.h"

namespace orrery::mcp {

/// Files that a call writes beside its answer; empty: none.
struct OutputFiles {
  std::string page = {};   // HTML
  std::string trace = {};  // of tools that have one
};

struct ToolAnswer {
  std::string text;  // for people
  Value data;        // as output_schema says
};

/// A verb as a tool of the Model Context Protocol.
struct Tool {
  std::string name;
  std::string description;
  Value input_schema;
  Value output_schema;
  bool has_trace = false;
  std::function<Result<ToolAnswer>(const api::Session&, const Value& arguments, const OutputFiles&,
                                   const api::CallOptions&)>
      call;
};

namespace internal {

/// The schema without some properties.
[[nodiscard]] Value Without(const Value& schema, std::span<const std::string_view> properties);

/// Fails where an argument is a property that the tool leaves out.
[[nodiscard]] Status CheckHas(const Value& arguments, std::span<const std::string_view> left_out);

template <typename Answer>
concept HasTrace = requires(const Answer& answer, const std::string& path) {
  { WriteTrace(answer, path) } -> std::same_as<Status>;
};

template <typename Request>
concept HasPictures = requires(Request& request) { request.needs_pictures = true; };

}  // namespace internal

/// Makes a tool of a verb of orrery/api; schemas and reading of arguments come from the lists of
/// fields. `left_out` names fields of the request that need another verb.
template <typename Request, typename Answer>
[[nodiscard]] Tool MakeTool(std::string name, std::string description,
                            Result<Answer> (*verb)(const api::Session&, const Request&),
                            std::vector<std::string_view> left_out = {}) {
  Tool tool{.name = std::move(name),
            .description = std::move(description),
            .input_schema = internal::Without(api::RequestSchema<Request>(), left_out),
            .output_schema = api::ObjectSchema<Answer>(),
            .has_trace = internal::HasTrace<Answer>,
            .call = {}};
  tool.call = [verb, left_out = std::move(left_out)](
                  const api::Session& session, const Value& arguments, const OutputFiles& files,
                  const api::CallOptions& options) -> Result<ToolAnswer> {
    ORRERY_TRY_STATUS(internal::CheckHas(arguments, left_out));
    ORRERY_TRY(Request request, api::FromValue<Request>(arguments));
    request.call = options;
    if constexpr (internal::HasPictures<Request>) {
      request.needs_pictures = !files.page.empty();
    }
    ORRERY_TRY(const Answer answer, verb(session, request));
    const report::Document document = MakeDocument(answer);
    if constexpr (internal::HasTrace<Answer>) {
      if (!files.trace.empty()) {
        ORRERY_TRY_STATUS(WriteTrace(answer, files.trace));
      }
    }
    if (!files.page.empty()) {
      ORRERY_TRY_STATUS(WriteFile(files.page, report::RenderHtml(document)));
    }
    return ToolAnswer{.text = report::RenderText(document), .data = api::ToObject(answer)};
  };
  return tool;
}

/// Tools that the program has.
[[nodiscard]] std::vector<Tool> AllTools();

}  // namespace orrery::mcp
