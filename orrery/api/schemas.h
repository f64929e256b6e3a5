#pragma once

#include <string_view>
#include <vector>

#include "orrery/api/export.h"
#include "orrery/base/error.h"
#include "orrery/base/value.h"

namespace orrery::api {

/// JSON Schemas of a verb, from its lists of fields.
struct VerbSchema {
  std::string_view verb;
  Value (*request)();
  Value (*result)();
};

/// The verbs that are functions of this library.
[[nodiscard]] ORRERY_API const std::vector<VerbSchema>& VerbSchemas();

/// `{"verb": …, "request": …, "result": …}`; fails for a verb without.
[[nodiscard]] ORRERY_API Result<Value> SchemaOfVerb(std::string_view verb);

}  // namespace orrery::api
