#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "orrery/base/document/value.h"

// JSON-RPC 2.0, one message a line.

namespace orrery::mcp {

enum class ErrorCode : std::int16_t {
  kParseError = -32700,
  kInvalidRequest = -32600,
  kNoSuchMethod = -32601,
  kInvalidParameters = -32602,
  kInternalError = -32603,
};

/// A request, or a notification where there is no id. One without a method is the reply to a
/// request, and we send none.
struct Message {
  std::optional<Value> id = {};  // an integer or a text
  std::string method = {};
  Value params = Value::Object();
};

/// The answer to a request that fails as a message.
struct ProtocolError {
  ErrorCode code = ErrorCode::kInternalError;
  std::string sentence = {};
  Value id = {};  // null: not known
};

[[nodiscard]] tl::expected<Message, ProtocolError> ParseMessage(std::string_view line);

// Lines without their ends.

[[nodiscard]] std::string ResultLine(const Value& id, Value result);
[[nodiscard]] std::string ErrorLine(const ProtocolError& error);
[[nodiscard]] std::string NotificationLine(std::string_view method, Value params);

/// The text of a field; empty where there is none.
[[nodiscard]] std::string_view TextIn(const Value& object, std::string_view name);

}  // namespace orrery::mcp
