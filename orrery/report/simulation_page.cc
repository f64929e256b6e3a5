#include "orrery/report/simulation_page.h"

#include "orrery/report/page.h"
#include "orrery/report/simulation_sections.h"

namespace orrery::report {

std::string RenderSimulationPage(const SimulationPage& page) {
  return Page(page.title, SimulationHeader(page) + PipelineSection(page) +
                              StageBreakdownSection(page) + MemorySection(page) +
                              DimensionsSection(page) + SettingsSection(page) +
                              NotModelledSection(page));
}

}  // namespace orrery::report
