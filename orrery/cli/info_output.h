#pragma once

#include <string>

#include "orrery/ingest/run.h"

namespace orrery::cli {

/// The page `orrery info` prints for people.
[[nodiscard]] std::string InfoText(const ingest::Run& run);

/// One table of measurements in it.
[[nodiscard]] std::string MeasurementText(const ingest::MeasurementTable& measured);

/// The JSON document of `orrery info --json`; its keys are in docs/formats/info-json.md.
[[nodiscard]] std::string InfoJson(const ingest::Run& run);

}  // namespace orrery::cli
