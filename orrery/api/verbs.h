#pragma once

#include <string_view>
#include <vector>

#include "orrery/api/any_verb.h"
#include "orrery/api/export.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"

namespace orrery::api {

/// The verbs of this library, by name: "predict kernel".
[[nodiscard]] ORRERY_API const std::vector<AnyVerb>& Verbs();

/// Fails where there is none of that name; the error lists them.
[[nodiscard]] ORRERY_API Result<const AnyVerb*> VerbNamed(std::string_view name);

/// `{"verb": …, "request": …, "result": …}`: the JSON Schemas of a verb.
[[nodiscard]] Value SchemaOf(const AnyVerb& verb);

}  // namespace orrery::api
