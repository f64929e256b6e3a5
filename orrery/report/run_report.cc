#include "orrery/report/run_report.h"

#include "orrery/report/page.h"
#include "orrery/report/sections.h"

namespace orrery::report {

std::string RenderHtml(const RunReport& report) {
  std::string body = HeaderSection(report);
  body += FindingsSection(report);
  body += BreakdownSection(report);
  body += TimelineSection(report);
  body += CollectivesSection(report);
  body += CriticalPathSection(report);
  body += ArrivalsSection(report);
  body += MetricsSection(report);
  body += NotesSection(report);
  return Page(report.title, body);
}

}  // namespace orrery::report
