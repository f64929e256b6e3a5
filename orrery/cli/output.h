#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "orrery/base/error.h"
#include "orrery/base/progress.h"
#include "orrery/cli/verb.h"
#include "orrery/report/document.h"

namespace orrery::cli {

using report::AsBytes;
using report::AsCount;
using report::AsDecimalBytes;
using report::AsNumber;
using report::AsRatio;
using report::AsShare;
using report::AsText;
using report::AsTime;
using report::Document;
using report::Formatted;
using report::NumberFormat;
using report::Unit;

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

/// Writes the files that the options name, then prints the document as text, JSON or CSV; returns
/// the exit status.
[[nodiscard]] Result<int> Deliver(const Document& document, const OutputOptions& options,
                                  bool is_partial = false);

/// Writes the files only.
[[nodiscard]] Status WriteOutputFiles(const Document& document, const OutputOptions& options);

/// Returns "12.34 us" or "1.234 ms".
[[nodiscard]] std::string TimeText(double seconds);

/// Returns the share of a part; 0 where there is no whole.
[[nodiscard]] inline double ShareOf(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// Prints text to standard output.
void Print(std::string_view text);

/// Prints the one sentence a user gets for an error, and returns the exit status for it.
int PrintError(const Error& error);

/// Prints a sentence that is not part of the output, to standard error.
void PrintNotice(std::string_view sentence);

/// A progress line on standard error; silent when that is no terminal.
[[nodiscard]] ProgressLine::Options TerminalProgress();

}  // namespace orrery::cli
