#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/api/fields/documents.h"
#include "orrery/base/concurrency/progress.h"
#include "orrery/base/concurrency/work_dealer.h"
#include "orrery/base/error.h"
#include "orrery/cli/verb.h"
#include "orrery/report/document.h"

namespace orrery::cli {

using api::AsBytes;
using api::AsCount;
using api::AsDecimalBytes;
using api::AsNumber;
using api::AsRatio;
using api::AsShare;
using api::AsText;
using api::AsTime;
using api::Document;
using api::Formatted;
using api::NumberFormat;
using api::ShareOf;
using api::Unit;

/// When text on standard output has colours: kAuto, on a terminal unless NO_COLOR is set.
enum class ColorChoice : std::uint8_t { kAuto, kAlways, kNever };

/// The forms in which a verb delivers its document.
struct OutputOptions {
  ColorChoice color = ColorChoice::kAuto;
  bool as_json = false;
  bool as_csv = false;
  std::string csv_table = {};  // empty: the first
  // Files to write in addition to what is printed; empty: none.
  std::string csv_file = {};
  std::string html_file = {};
  std::string svg_file = {};
  report::MadeBy made_by = {};  // but for the date
};

/// Adds --json, --html and --color to a verb; all verbs have them.
void AddOutputOptions(Verb& verb, OutputOptions& options);

/// Adds --csv and --table, for a verb whose tables are worth printing as CSV.
void AddCsvOptions(Verb& verb, OutputOptions& options);

/// Writes the files that the options name, then prints the document as text, JSON or CSV; returns
/// the exit status.
[[nodiscard]] Result<int> Deliver(const Document& document, const OutputOptions& options,
                                  bool is_partial = false);

/// Writes the files only.
[[nodiscard]] Status WriteOutputFiles(const Document& document, const OutputOptions& options);

/// The columns of text on standard output: those of the terminal, from 80 to 120, since wider lines
/// are hard to read; where it is none, those of draw/text_table.h.
[[nodiscard]] std::size_t TextWidth();

/// Prints text to standard output.
void Print(std::string_view text);

/// Prints the one sentence a user gets for an error, and returns the exit status for it.
int PrintError(const Error& error);

/// Prints a sentence that is not part of the output, to standard error.
void PrintNotice(std::string_view sentence);

/// The files that a command is to write. It notes how they are before, to tell which were written.
class WrittenFiles {
 public:
  explicit WrittenFiles(std::vector<std::string> paths);

  /// Says on standard error which have been written since: "wrote page.html (52.1 kB)".
  void Say() const;

 private:
  using FileTime = std::filesystem::file_time_type;

  std::vector<std::pair<std::string, FileTime>> time_of_path_;
};

/// A progress line on standard error.
[[nodiscard]] ProgressLine::Options TerminalProgress();

/// The same for work on several processes, of which only the root shows any.
[[nodiscard]] ProgressLine::Options TerminalProgress(const WorkDealer& dealer);

}  // namespace orrery::cli
