#include "orrery/mcp/message.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <tl/expected.hpp>

#include "orrery/base/document/parse_json.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/draw/format.h"

namespace orrery::mcp {
namespace {

bool IsId(const Value& value) {
  return std::holds_alternative<std::int64_t>(value.variant()) ||
         std::holds_alternative<std::string>(value.variant());
}

tl::unexpected<ProtocolError> Refuse(const Value* id, std::string sentence) {
  return tl::unexpected(ProtocolError{.code = ErrorCode::kInvalidRequest,
                                      .sentence = std::move(sentence),
                                      .id = id != nullptr && IsId(*id) ? *id : Value()});
}

Value Begin() {
  return Value::Object().Set("jsonrpc", "2.0");
}

std::string Line(const Value& message) {
  std::string line;
  draw::AppendJson(message, -1, line);
  return line;
}

}  // namespace

std::string_view TextIn(const Value& object, std::string_view name) {
  const Value* const value = object.Find(name);
  const auto* const text = value != nullptr ? std::get_if<std::string>(&value->variant()) : nullptr;
  return text != nullptr ? std::string_view(*text) : std::string_view();
}

tl::expected<Message, ProtocolError> ParseMessage(std::string_view line) {
  const Result<Value> read = ParseJson(line);
  if (!read) {
    return tl::unexpected(
        ProtocolError{.code = ErrorCode::kParseError, .sentence = read.error().message()});
  }
  if (!read->IsObject()) {
    return Refuse(nullptr, "a message must be one JSON object; batches are not supported");
  }
  const Value* const id = read->Find("id");
  const bool is_reply = read->Find("result") != nullptr || read->Find("error") != nullptr;
  Message message{.method = std::string(TextIn(*read, "method"))};
  if (TextIn(*read, "jsonrpc") != "2.0" || (message.method.empty() && !is_reply)) {
    return Refuse(id, R"(a message must have "jsonrpc": "2.0" and a method)");
  }
  if (id != nullptr && !is_reply) {
    if (!IsId(*id)) {
      return Refuse(nullptr, "the id of a request must be an integer or a string");
    }
    message.id = *id;
  }
  if (const Value* const params = read->Find("params"); params != nullptr && !params->IsNull()) {
    if (!params->IsObject()) {
      return Refuse(id, "params must be a JSON object");
    }
    message.params = *params;
  }
  return message;
}

std::string ResultLine(const Value& id, Value result) {
  return Line(Begin().Set("id", id).Set("result", std::move(result)));
}

std::string ErrorLine(const ProtocolError& error) {
  Value data = Value::Object();
  data.Set("code", static_cast<int>(error.code)).Set("message", error.sentence);
  return Line(Begin().Set("id", error.id).Set("error", std::move(data)));
}

std::string NotificationLine(std::string_view method, Value params) {
  return Line(Begin().Set("method", method).Set("params", std::move(params)));
}

}  // namespace orrery::mcp
