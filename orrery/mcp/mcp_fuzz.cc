#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "orrery/api/any_verb.h"
#include "orrery/api/session.h"
#include "orrery/base/check.h"
#include "orrery/base/document/parse_json.h"
#include "orrery/base/file/line_cutter.h"
#include "orrery/mcp/folders.h"
#include "orrery/mcp/server.h"
#include "orrery/mcp/tool.h"

// A session: any bytes give replies that are JSON, or none. The tool does nothing, so that what is
// tried are messages and the check of paths in arguments.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery;  // NOLINT(google-build-using-namespace): one function
  const auto no_schema = +[] { return Value::Object().Set("properties", Value::Object()); };
  mcp::Tool tool{.name = "simulate",
                 .description = "",
                 .verb = {.name = "simulate",
                          .request_schema = no_schema,
                          .result_schema = no_schema,
                          .has_trace = true,
                          .call = [](const api::Session&,
                                     const api::AnyRequest& request) -> Result<api::AnyAnswer> {
                            return api::AnyAnswer{
                                .data = request.fields,
                                .write_trace = [](const std::string&) { return Status(); }};
                          }}};
  mcp::Server server({std::move(tool)}, *mcp::Folders::Open({"/usr/share"}, ""), "0",
                     [](const std::string& line) {
                       const auto reply = ParseJson(line);
                       ORRERY_CHECK(reply && reply->IsObject(), "a reply is JSON");
                       ORRERY_CHECK(line.find('\n') == std::string::npos, "a reply is one line");
                     });
  LineCutter lines(mcp::kLongestMessage, [&](std::string_view line) { server.Receive(line); });
  lines.Add({reinterpret_cast<const char*>(data), size});
  lines.Finish();
  server.Finish();
  return 0;
}
