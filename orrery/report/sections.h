#pragma once

#include <string>

#include "orrery/report/run_report.h"

namespace orrery::report {

// One function a section of the page, in the order of the page. Each returns HTML.

[[nodiscard]] std::string HeaderSection(const RunReport& report);
[[nodiscard]] std::string FindingsSection(const RunReport& report);
[[nodiscard]] std::string BreakdownSection(const RunReport& report);
[[nodiscard]] std::string TimelineSection(const RunReport& report);
[[nodiscard]] std::string CollectivesSection(const RunReport& report);
[[nodiscard]] std::string CriticalPathSection(const RunReport& report);
[[nodiscard]] std::string ArrivalsSection(const RunReport& report);
[[nodiscard]] std::string MetricsSection(const RunReport& report);
[[nodiscard]] std::string NotesSection(const RunReport& report);

}  // namespace orrery::report
