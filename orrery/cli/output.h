#pragma once

#include <string>

#include "orrery/base/error.h"
#include "orrery/cli/verb.h"
#include "orrery/report/document.h"

namespace orrery::cli {

/// The forms in which a verb delivers its document.
struct OutputOptions {
  bool as_json = false;
  bool as_csv = false;
  std::string csv_table = {};  // empty: the first
  // Files to write in addition to what is printed; empty: none.
  std::string csv_file = {};
  std::string html_file = {};
  std::string svg_file = {};
};

/// Adds --json and --html to a verb; all verbs have them.
void AddOutputOptions(Verb& verb, OutputOptions& options);

/// Adds --csv and --table, for a verb whose tables are worth printing as CSV.
void AddCsvOptions(Verb& verb, OutputOptions& options);

/// Writes the files that the options name, then prints the document as text, JSON or CSV.
[[nodiscard]] Status Deliver(const report::Document& document, const OutputOptions& options);

/// Writes the files only.
[[nodiscard]] Status WriteOutputFiles(const report::Document& document,
                                      const OutputOptions& options);

}  // namespace orrery::cli
