#pragma once

#include "orrery/api/any_verb.h"
#include "orrery/report/document.h"

namespace orrery::api {

/// The fields of the request and of the result of a verb as two tables: key, type, meaning. Keys of
/// nested objects have their parents before them: "best[].plan", "memory_parts.NAME".
[[nodiscard]] report::Document FieldTables(const AnyVerb& verb);

}  // namespace orrery::api
