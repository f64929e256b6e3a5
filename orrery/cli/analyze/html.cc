#include "orrery/cli/analyze/html.h"

#include <filesystem>
#include <string_view>
#include <utility>

#include "orrery/base/byte_sink.h"
#include "orrery/report/collect.h"
#include "orrery/report/nvlink_page.h"
#include "orrery/report/run_report.h"

namespace orrery::cli {
namespace {

// "runs/today/" and "runs/today" are both "today".
std::string TitleOf(const std::vector<std::string>& paths) {
  const std::filesystem::path path(paths.front());
  const std::filesystem::path name =
      path.has_filename() ? path.filename() : path.parent_path().filename();
  return name.empty() || name == "." || name == ".." ? "A run" : name.string();
}

std::vector<report::MetricRow> RowsOf(const std::vector<NamedResult>& results) {
  std::vector<report::MetricRow> rows;
  for (const NamedResult& named : results) {
    rows.push_back({.name = named.name,
                    .meaning = named.meaning,
                    .value = named.result.value,
                    .unit = named.unit,
                    .reason = named.result.reason});
  }
  return rows;
}

Status WritePage(std::string_view page, const std::string& file) {
  ORRERY_TRY(const auto sink, CreateFile(file));
  ORRERY_TRY_STATUS(sink->Write(page));
  return sink->Close();
}

}  // namespace

report::RunReport ReportOf(const analyze::RunView& run, const std::vector<NamedResult>& results,
                           const std::vector<std::string>& paths) {
  return report::CollectReport(run, {.title = TitleOf(paths), .metrics = RowsOf(results)});
}

Status WriteHtmlReport(const report::RunReport& page, const std::string& file) {
  return WritePage(report::RenderHtml(page), file);
}

Status WriteNvlinkReport(const analyze::RunView& run, const std::vector<std::string>& paths,
                         const std::string& file) {
  ORRERY_TRY(const std::string page, report::RenderNvlinkPage(run, TitleOf(paths)));
  return WritePage(page, file);
}

}  // namespace orrery::cli
