#include "orrery/cli/output.h"

#include "orrery/base/packing.h"
#include "orrery/cli/terminal.h"

namespace orrery::cli {

void AddOutputOptions(Verb& verb, OutputOptions& options) {
  verb.AddFlag("--json", options.as_json, "print one JSON document");
  verb.AddOption("--html", options.html_file, "write a page for a browser to this file")
      .TypeName("FILE");
}

void AddCsvOptions(Verb& verb, OutputOptions& options) {
  verb.AddFlag("--csv", options.as_csv, "print the first table with all its rows")
      .Excludes("--json");
  verb.AddOption("--table", options.csv_table, "--csv: another table, by its name in --json");
}

Status WriteOutputFiles(const report::Document& document, const OutputOptions& options) {
  if (!options.csv_file.empty()) {
    ORRERY_TRY(const std::string csv, report::RenderCsv(document));
    ORRERY_TRY_STATUS(WriteFile(options.csv_file, csv));
  }
  if (!options.svg_file.empty()) {
    ORRERY_TRY(const std::string svg, report::RenderSvg(document));
    ORRERY_TRY_STATUS(WriteFile(options.svg_file, svg));
  }
  return options.html_file.empty() ? Status()
                                   : WriteFile(options.html_file, report::RenderHtml(document));
}

Status Deliver(const report::Document& document, const OutputOptions& options) {
  std::string text;
  if (options.as_csv) {
    ORRERY_TRY(text, report::RenderCsv(document, options.csv_table));
  } else {
    text = options.as_json ? report::RenderJson(document) : report::RenderText(document);
  }
  ORRERY_TRY_STATUS(WriteOutputFiles(document, options));
  Print(text);
  return {};
}

}  // namespace orrery::cli
