#pragma once

// ORRERY_API. The macro lives in base because classes below api, such as errors, are part of the
// library too.
#include "orrery/base/export.h"  // IWYU pragma: export
