#pragma once

#include <cstdint>
#include <vector>

#include "orrery/base/document/value.h"
#include "orrery/report/document.h"

// Short names of the parts of documents, for the sources that make them.

namespace orrery::api {

using report::AsBytes;
using report::AsCount;
using report::AsDecimalBytes;
using report::AsNumber;
using report::AsRatio;
using report::AsShare;
using report::AsText;
using report::AsTime;
using report::Document;
using report::Formatted;
using report::NumberFormat;
using report::Unit;

/// Returns the share of a part; 0 where there is no whole.
[[nodiscard]] inline double ShareOf(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// The rows of a table as JSON has them: objects of the columns that have a key.
[[nodiscard]] std::vector<Value> RowsOf(const Document::Table& table);

}  // namespace orrery::api
