#pragma once

#include <string>

namespace orrery::stream {

/// The schema as a table for people and programs: chunk, number, record, fields with encodings.
[[nodiscard]] std::string SchemaText();

}  // namespace orrery::stream
