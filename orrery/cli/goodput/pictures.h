#pragma once

#include <string_view>

#include "orrery/cli/goodput/goodput.h"
#include "orrery/cli/output.h"
#include "orrery/simulate/goodput/goodput.h"

namespace orrery::cli {

/// What time is lost to, for people.
[[nodiscard]] std::string_view LostTimeName(simulate::LostTime what);

/// How many months had which effective training time; several of them only.
[[nodiscard]] Document::Picture EttrPicture(const GoodputAnswer& answer);

/// Hours lost to each thing.
[[nodiscard]] Document::Picture LostTimePicture(const GoodputAnswer& answer);

/// What is lost with other intervals.
[[nodiscard]] Document::Picture IntervalPicture(const GoodputAnswer& answer);

/// What is lost with other spares.
[[nodiscard]] Document::Picture SparesPicture(const GoodputAnswer& answer);

}  // namespace orrery::cli
