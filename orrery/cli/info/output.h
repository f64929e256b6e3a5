#pragma once

#include <string>
#include <vector>

#include "orrery/draw/json_writer.h"
#include "orrery/ingest/run.h"
#include "orrery/trace/trace.h"

namespace orrery::cli {

/// The page `orrery info` prints for people.
[[nodiscard]] std::string InfoText(const ingest::Run& run);

/// One table of measurements in it.
[[nodiscard]] std::string MeasurementText(const ingest::MeasurementTable& measured);

/// How well recorders saw what kernels do to memory, and what they say of it; empty for traces that
/// come from no such recorder.
[[nodiscard]] std::string CoverageText(const std::vector<trace::Trace>& ranks);

/// The same as the field "coverage" of a rank, with what the recording cost; nothing for such
/// traces.
void WriteCoverage(draw::JsonWriter& json, const trace::Trace& rank);

/// The JSON document of `orrery info --json`; its keys are in docs/formats/info-json.md.
[[nodiscard]] std::string InfoJson(const ingest::Run& run);

}  // namespace orrery::cli
