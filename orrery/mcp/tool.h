#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orrery/api/any_verb.h"
#include "orrery/api/call.h"
#include "orrery/api/session.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"

namespace orrery::mcp {

/// Files that a call writes beside its answer; empty: none.
struct OutputFiles {
  std::string page = {};   // HTML
  std::string trace = {};  // of verbs that have one
};

/// A verb as a tool of the Model Context Protocol.
struct Tool {
  std::string name;
  std::string description;
  api::AnyVerb verb;
  std::vector<std::string_view> left_out = {};  // fields of the request that need another verb

  /// The schema of the request without what is left out.
  [[nodiscard]] Value InputSchema() const;

  /// `trace` names a file to write, unless it is what the request reads.
  [[nodiscard]] bool WritesTrace() const;
};

struct ToolAnswer {
  std::string text;  // for people
  Value data;        // as the verb's schema says
};

/// Runs a verb and writes the files.
[[nodiscard]] Result<ToolAnswer> CallTool(const Tool& tool, const api::Session& session,
                                          const Value& arguments, const OutputFiles& files,
                                          const api::CallOptions& options);

/// Predictions and analyses.
[[nodiscard]] std::vector<Tool> AllTools();

}  // namespace orrery::mcp
