#pragma once

#include <span>
#include <string>
#include <string_view>

#include "orrery/api/export.h"
#include "orrery/api/view.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"

// The questions of a view without their types, for front ends that receive requests as data.

namespace orrery::api::view {

struct AnyReply {
  bool is_binary = false;
  Value data = {};
  std::string bytes = {};  // of a binary reply
};

struct Question {
  std::string_view name;  // "slices"
  bool makes_run = false;
  Value (*request_schema)() = nullptr;
  Value (*reply_schema)() = nullptr;  // null where the reply is binary
  Result<AnyReply> (*ask)(const View& view, const Value& request) = nullptr;
};

[[nodiscard]] ORRERY_API std::span<const Question> Questions();

/// The types of all replies and of changes, and the questions by name, in TypeScript.
[[nodiscard]] ORRERY_API std::string TypeScript();

}  // namespace orrery::api::view
