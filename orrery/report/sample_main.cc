// Writes the page of a synthetic run, for looking at it: report_sample RANKS > page.html
#include <cstdio>
#include <cstdlib>
#include <string>

#include "orrery/report/run_report.h"
#include "orrery/report/sample_report.h"

int main(int argc, char** argv) {
  const int num_ranks = argc > 1 ? std::atoi(argv[1]) : 8;
  const std::string page = orrery::report::RenderHtml(
      orrery::report::RunDocument(orrery::report::SampleReport(num_ranks)));
  return std::fwrite(page.data(), 1, page.size(), stdout) == page.size() ? 0 : 1;
}
