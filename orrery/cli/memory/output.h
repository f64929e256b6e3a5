#pragma once

#include <string>
#include <string_view>

#include "orrery/base/error.h"
#include "orrery/report/memory_page.h"

namespace orrery::cli {

/// One document (docs/formats/memory-json.md).
[[nodiscard]] std::string MemoryJson(const report::MemoryPage& page);

/// One table of the page with all its rows; without a name the first. Fails for a name that is not
/// there.
[[nodiscard]] Result<std::string> MemoryCsv(const report::MemoryPage& page, std::string_view table);

/// All pictures below each other, as one SVG document; fails where there is none.
[[nodiscard]] Result<std::string> MemorySvg(const report::MemoryPage& page);

}  // namespace orrery::cli
