#pragma once

#include <string>

#include "orrery/report/simulation_page.h"

namespace orrery::report {

// One function for each section of a simulated step's page.

/// Name, headline numbers, the bottleneck; whether it fits.
[[nodiscard]] std::string SimulationHeader(const SimulationPage& page);

/// Stages, or kinds of ranks, over time: passes of micro-batches, communication, bubble.
[[nodiscard]] std::string PipelineSection(const SimulationPage& page);

/// A bar for each of them, and the slowest rank in numbers.
[[nodiscard]] std::string StageBreakdownSection(const SimulationPage& page);

/// The fullest of them over time, and all in numbers; of traced ranks the numbers alone.
[[nodiscard]] std::string MemorySection(const SimulationPage& page);

/// Calls, bytes and time of each dimension of the plan.
[[nodiscard]] std::string DimensionsSection(const SimulationPage& page);

[[nodiscard]] std::string SettingsSection(const SimulationPage& page);
[[nodiscard]] std::string NotModelledSection(const SimulationPage& page);

}  // namespace orrery::report
