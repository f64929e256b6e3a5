#pragma once

#include <string_view>

#include "orrery/api/fields/documents.h"
#include "orrery/api/goodput/answer.h"
#include "orrery/simulate/goodput/goodput.h"

namespace orrery::api {

/// The name of a cause of lost time, for people.
[[nodiscard]] std::string_view LostTimeName(simulate::LostTime what);

/// A histogram of months by effective training time; of several months only.
[[nodiscard]] Document::Picture EttrPicture(const GoodputAnswer& answer);

/// Hours lost to each thing.
[[nodiscard]] Document::Picture LostTimePicture(const GoodputAnswer& answer);

/// Lost time with other intervals.
[[nodiscard]] Document::Picture IntervalPicture(const GoodputAnswer& answer);

/// Lost time with other spares.
[[nodiscard]] Document::Picture SparesPicture(const GoodputAnswer& answer);

}  // namespace orrery::api
