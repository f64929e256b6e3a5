#pragma once

#include "orrery/report/document.h"
#include "orrery/report/run_report.h"

namespace orrery::report {

// One function for each section of a run's document that has pictures, in their order.

void AddBreakdown(const RunReport& report, Document& document);
void AddTimeline(const RunReport& report, Document& document);
void AddCollectives(const RunReport& report, Document& document);
void AddCriticalPath(const RunReport& report, Document& document);
void AddArrivals(const RunReport& report, Document& document);

}  // namespace orrery::report
