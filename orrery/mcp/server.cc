#include "orrery/mcp/server.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/api/call.h"
#include "orrery/base/concurrency/stop.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/base/text/nearest_word.h"
#include "orrery/mcp/call_queue.h"
#include "orrery/mcp/folders.h"
#include "orrery/mcp/message.h"
#include "orrery/mcp/tool.h"

namespace orrery::mcp {
namespace {

// The newest first. Not 2025-03-26, which has batches.
constexpr auto kVersions =
    std::to_array<std::string_view>({"2025-11-25", "2025-06-18", "2024-11-05"});

constexpr std::string_view kInstructions =
    "Orrery predicts and explains training steps of machine learning. Jobs are YAML: keys model, "
    "training, plan, cluster (docs/formats/job.md); times are in seconds. Files are read below "
    "{}; relative paths begin at the first. {}";

const Value& ObjectIn(const Value& params, std::string_view name) {
  static const Value none = Value::Object();
  const Value* const value = params.Find(name);
  return value != nullptr && value->IsObject() ? *value : none;
}

Value TextProperty(std::string_view description) {
  return Value::Object().Set("type", "string").Set("description", description);
}

Value InputSchema(const Tool& tool, bool can_write) {
  Value schema = tool.InputSchema();
  if (!can_write) {
    return schema;
  }
  Value properties = *schema.Find("properties");
  properties.Set("page", TextProperty("a new HTML file to write, below the writable folder"));
  if (tool.WritesTrace()) {
    properties.Set("trace",
                   TextProperty("a new trace to write, below the writable folder: .orr, .json, "
                                ".json.gz or .pftrace"));
  }
  return schema.Set("properties", std::move(properties));
}

Value DescribeTool(const Tool& tool, bool can_write) {
  return Value::Object()
      .Set("name", tool.name)
      .Set("description", tool.description)
      .Set("inputSchema", InputSchema(tool, can_write))
      .Set("outputSchema", tool.verb.result_schema())
      .Set("annotations", Value::Object()
                              .Set("readOnlyHint", !can_write)
                              .Set("destructiveHint", false)
                              .Set("openWorldHint", false));
}

Value CallResult(std::string_view text, bool is_error) {
  Value content = Value::List();
  content.Add(Value::Object().Set("type", "text").Set("text", text));
  return Value::Object().Set("content", std::move(content)).Set("isError", is_error);
}

Value CallResult(const Result<ToolAnswer>& answer) {
  return answer ? CallResult(answer->text, false).Set("structuredContent", answer->data)
                : CallResult(answer.error().message(), true);
}

// Moves the names of files to write from the arguments to the result.
Result<OutputFiles> TakeOutputFiles(const Tool& tool, const Folders& folders, Value& arguments) {
  OutputFiles files;
  Value others = Value::Object();
  for (const auto& [name, value] : arguments.fields()) {
    std::string* const file = name == "page"                          ? &files.page
                              : name == "trace" && tool.WritesTrace() ? &files.trace
                                                                      : nullptr;
    if (file == nullptr) {
      others.Set(name, value);
      continue;
    }
    const auto* const text = std::get_if<std::string>(&value.variant());
    if (text == nullptr || text->empty()) {
      return Invalid("{}: the name of a file is expected", name);
    }
    ORRERY_TRY(*file, folders.OutputPath(name, *text));
  }
  arguments = std::move(others);
  return files;
}

Result<ToolAnswer> Call(const Tool& tool, const api::Session& session, const Folders& folders,
                        Value arguments, const api::CallOptions& options) {
  ORRERY_TRY(const OutputFiles files, TakeOutputFiles(tool, folders, arguments));
  ORRERY_TRY_STATUS(folders.CheckArguments(arguments));
  return CallTool(tool, session, arguments, files, options);
}

// An exception is a bug, or too little memory; the server goes on.
Result<ToolAnswer> CallSafely(const Tool& tool, const api::Session& session, const Folders& folders,
                              const Value& arguments, const api::CallOptions& options) {
  try {
    return Call(tool, session, folders, arguments, options);
  } catch (const Stopped&) {
    return Fail(Error::Kind::kLimit, "the call was cancelled");
  } catch (const std::bad_alloc&) {
    return Fail(Error::Kind::kLimit, "out of memory");
  } catch (const std::exception& error) {
    return Fail(Error::Kind::kSystem,
                fmt::format("this is a bug in Orrery ({}); please report it", error.what()));
  }
}

std::string UnknownTool(std::string_view name, std::span<const Tool> tools) {
  std::vector<std::string_view> names;
  for (const Tool& tool : tools) {
    names.push_back(tool.name);
  }
  return fmt::format("there is no tool '{}'{}", name, DidYouMean(name, names));
}

}  // namespace

Server::Server(std::vector<Tool> tools, Folders folders, std::string version, Send send)
    : tools_(std::move(tools)),
      folders_(std::move(folders)),
      version_(std::move(version)),
      send_(std::move(send)) {}

void Server::Receive(std::string_view line) {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) {
    return;
  }
  if (line.size() > kLongestMessage) {
    SendLine(
        ErrorLine({.code = ErrorCode::kInvalidRequest,
                   .sentence = fmt::format("a message is longer than {} bytes", kLongestMessage)}));
    return;
  }
  const tl::expected<Message, ProtocolError> message = ParseMessage(line);
  if (!message) {
    SendLine(ErrorLine(message.error()));
  } else if (message->id) {
    Answer(*message);
  } else {
    Notice(*message);
  }
}

void Server::Answer(const Message& message) {
  if (message.method == "tools/call") {
    BeginCall(*message.id, message.params);
  } else if (message.method == "tools/list") {
    SendLine(ResultLine(*message.id, ListTools()));
  } else if (message.method == "initialize") {
    SendLine(ResultLine(*message.id, Initialize(message.params)));
  } else if (message.method == "ping") {
    SendLine(ResultLine(*message.id, Value::Object()));
  } else {
    SendLine(ErrorLine({.code = ErrorCode::kNoSuchMethod,
                        .sentence = fmt::format("there is no method '{}'", message.method),
                        .id = *message.id}));
  }
}

// notifications/initialized needs no action, and unknown ones are to be ignored.
void Server::Notice(const Message& notification) {
  const Value* const id = notification.params.Find("requestId");
  if (notification.method == "notifications/cancelled" && id != nullptr) {
    queue_.Cancel(*id);
  }
}

Value Server::Initialize(const Value& params) const {
  const std::string_view asked = TextIn(params, "protocolVersion");
  const bool is_known = std::ranges::find(kVersions, asked) != kVersions.end();
  std::vector<std::string> readable;
  for (const auto& folder : folders_.readable()) {
    readable.push_back(folder.string());
  }
  return Value::Object()
      .Set("protocolVersion", is_known ? asked : kVersions.front())
      .Set("capabilities", Value::Object().Set("tools", Value::Object()))
      .Set("serverInfo",
           Value::Object().Set("name", "orrery").Set("title", "Orrery").Set("version", version_))
      .Set("instructions", fmt::format(kInstructions, fmt::join(readable, ", "),
                                       folders_.can_write() ? "Files are written below the last."
                                                            : "Nothing is written."));
}

Value Server::ListTools() const {
  Value tools = Value::List();
  for (const Tool& tool : tools_) {
    tools.Add(DescribeTool(tool, folders_.can_write()));
  }
  return Value::Object().Set("tools", std::move(tools));
}

void Server::BeginCall(const Value& id, const Value& params) {
  const std::string_view name = TextIn(params, "name");
  const auto tool = std::ranges::find(tools_, name, &Tool::name);
  const Value* const arguments = params.Find("arguments");
  if (tool == tools_.end() || (arguments != nullptr && !arguments->IsObject())) {
    SendLine(ErrorLine({.code = ErrorCode::kInvalidParameters,
                        .sentence = tool == tools_.end() ? UnknownTool(name, tools_)
                                                         : "arguments must be a JSON object",
                        .id = id}));
    return;
  }
  queue_.Add(id, [this, id, &tool = *tool, params](const std::atomic<bool>& stop) {
    RunCall(id, tool, params, stop);
  });
}

void Server::RunCall(const Value& id, const Tool& tool, const Value& params,
                     const std::atomic<bool>& stop) {
  api::CallOptions options{.stop = &stop};
  if (const Value* const token = ObjectIn(params, "_meta").Find("progressToken")) {
    options.progress = ReportTo(*token);
  }
  const Result<ToolAnswer> answer =
      CallSafely(tool, session_, folders_, ObjectIn(params, "arguments"), options);
  if (!stop) {  // a cancelled request is not answered
    SendLine(ResultLine(id, CallResult(answer)));
  }
}

// Progress must increase from one notification to the next; steps of a hundredth are enough.
api::Progress Server::ReportTo(const Value& token) {
  struct Last {
    std::mutex mutex = {};
    std::int64_t progress = 0;
  };

  const auto last = std::make_shared<Last>();  // copies of a Progress are one
  return [this, token, last](std::int64_t done, std::int64_t total, std::string_view what) {
    const std::lock_guard lock(last->mutex);
    const std::int64_t progress = total > 0 ? done : last->progress + 1;
    if (progress < last->progress + std::max<std::int64_t>(total / 100, 1)) {
      return;
    }
    last->progress = progress;
    Value params = Value::Object();
    params.Set("progressToken", token).Set("progress", progress);
    if (total > 0) {
      params.Set("total", total);
    }
    SendLine(NotificationLine("notifications/progress", params.Set("message", what)));
  };
}

void Server::SendLine(const std::string& line) {
  const std::lock_guard lock(mutex_);
  send_(line);
}

}  // namespace orrery::mcp
