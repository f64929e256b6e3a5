#pragma once

#include <string>

#include "orrery/api/export.h"
#include "orrery/report/document.h"

// Texts of documents, such as MakeDocument makes of each result.

namespace orrery::api {

/// The text that the verb prints.
[[nodiscard]] ORRERY_API std::string RenderText(const report::Document& document);

/// The JSON that the verb prints with --json.
[[nodiscard]] ORRERY_API std::string RenderJson(const report::Document& document);

/// One HTML file that fetches nothing.
[[nodiscard]] ORRERY_API std::string RenderHtml(const report::Document& document);

}  // namespace orrery::api
