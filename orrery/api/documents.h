#pragma once

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

}  // namespace orrery::api
