#include "orrery/cli/output.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string_view>

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "orrery/base/byte_sink.h"
#include "orrery/base/error.h"
#include "orrery/base/progress.h"
#include "orrery/base/units.h"
#include "orrery/base/visible_text.h"

namespace orrery::cli {
namespace {

// Of a line of a sentence; longer ones quote something that nobody reads to its end.
constexpr std::size_t kMostOfLine = 1000;
constexpr std::size_t kKeptAtEnd = 300;  // what to do about it is said there

// The number of bytes up to `at`, or up to the character that it is inside of.
std::size_t CharacterBefore(std::string_view line, std::size_t at) {
  while (at > 0 && (static_cast<unsigned char>(line[at]) & 0xc0U) == 0x80) {
    --at;
  }
  return at;
}

// Returns the lines, each without its middle where it is too long.
std::string WithShortLines(std::string_view lines) {
  std::string out;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size() - 1) + 1;
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end);
    if (line.size() <= kMostOfLine) {
      out += line;
      continue;
    }
    out.append(line.substr(0, CharacterBefore(line, kMostOfLine - kKeptAtEnd)))
        .append(" … ")
        .append(line.substr(CharacterBefore(line, line.size() - kKeptAtEnd)));
  }
  return out;
}

std::size_t TerminalWidth() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

TimePoint Now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::nanoseconds>(since).count()};
}

}  // namespace

void AddOutputOptions(Verb& verb, OutputOptions& options) {
  verb.AddFlag("--json", options.as_json, "print one JSON document");
  verb.AddOption("--html FILE", options.html_file, "write a page for a browser to this file");
}

void AddCsvOptions(Verb& verb, OutputOptions& options) {
  verb.AddFlag("--csv", options.as_csv, "print the first table with all its rows")
      .Excludes("--json");
  verb.AddOption("--table", options.csv_table, "--csv: another table, by its name in --json");
}

Status WriteOutputFiles(const Document& document, const OutputOptions& options) {
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

Result<int> Deliver(const Document& document, const OutputOptions& options, bool is_partial) {
  std::string text;
  if (options.as_csv) {
    ORRERY_TRY(text, report::RenderCsv(document, options.csv_table));
  } else {
    text = options.as_json ? report::RenderJson(document) : report::RenderText(document);
  }
  ORRERY_TRY_STATUS(WriteOutputFiles(document, options));
  Print(text);
  return is_partial ? kExitPartial : kExitOk;
}

std::string TimeText(double seconds) {
  return seconds < 1e-3 ? fmt::format("{:.2f} us", seconds * 1e6)
                        : fmt::format("{:.3f} ms", seconds * 1e3);
}

void Print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void PrintNotice(std::string_view sentence) {
  // fmt::print throws where standard error cannot be written.
  const std::string line = fmt::format("orrery: {}\n", WithShortLines(VisibleText(sentence)));
  std::fwrite(line.data(), 1, line.size(), stderr);
}

int PrintError(const Error& error) {
  PrintNotice(error.message());
  return kExitUnusable;
}

ProgressLine::Options TerminalProgress() {
  return {.write =
              [](std::string_view text) {
                std::fwrite(text.data(), 1, text.size(), stderr);
                std::fflush(stderr);
              },
          .is_terminal = isatty(STDERR_FILENO) != 0,
          .width = TerminalWidth(),
          .now = Now};
}

}  // namespace orrery::cli
