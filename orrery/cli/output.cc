#include "orrery/cli/output.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "orrery/base/concurrency/progress.h"
#include "orrery/base/concurrency/work_dealer.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_sink.h"
#include "orrery/base/file/folder.h"
#include "orrery/base/text/decimal.h"
#include "orrery/base/text/visible_text.h"
#include "orrery/base/units.h"
#include "orrery/cli/verb.h"
#include "orrery/draw/format.h"
#include "orrery/draw/text_table.h"
#include "orrery/report/document.h"

namespace orrery::cli {
namespace {

// The longest line of a sentence in bytes; longer ones quote something too long to read.
constexpr std::size_t kMostOfLine = 1000;
constexpr std::size_t kKeptAtEnd = 300;  // the end of a sentence says how to fix the error

// The number of bytes up to `at`, or up to the character that contains it.
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

std::size_t TerminalWidth(int terminal) {
  winsize size{};
  return ioctl(terminal, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

bool IsSet(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

// Open MPI gives its processes a pseudo-terminal, even where its own output goes to a file.
bool IsTerminal(int stream) {
  return isatty(stream) != 0 && !IsSet("OMPI_COMM_WORLD_SIZE");
}

// https://no-color.org
bool HasColor(ColorChoice choice) {
  const char* const terminal = std::getenv("TERM");
  const bool is_capable = IsTerminal(STDOUT_FILENO) && !IsSet("NO_COLOR") && terminal != nullptr &&
                          std::string_view(terminal) != "dumb";
  return choice == ColorChoice::kAlways || (choice == ColorChoice::kAuto && is_capable);
}

bool IsStandardOutput(const std::string& path) {
  struct stat file{};
  struct stat output{};
  return stat(path.c_str(), &file) == 0 && fstat(STDOUT_FILENO, &output) == 0 &&
         file.st_dev == output.st_dev && file.st_ino == output.st_ino;
}

std::filesystem::file_time_type TimeOf(const std::string& path) {
  std::error_code error;
  const auto time = std::filesystem::last_write_time(path, error);
  return error ? std::filesystem::file_time_type::min() : time;
}

// "(52.1 kB)", or "(6 files)" for a folder.
std::string SizeText(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    return draw::FormatBytes({static_cast<std::int64_t>(fs::file_size(path, error))});
  }
  const auto files = FilesBelow(path);
  const std::size_t count = files ? files->size() : 0;
  return files ? fmt::format("{} file{}", count, count == 1 ? "" : "s") : "a folder";
}

TimePoint Now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::nanoseconds>(since).count()};
}

// Today in UTC, or the day that SOURCE_DATE_EPOCH names, for pages that are the same every day.
std::string DateText() {
  std::chrono::sys_seconds now =
      std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  if (const char* const fixed = std::getenv("SOURCE_DATE_EPOCH"); fixed != nullptr) {
    constexpr std::int64_t kLatest = 253402300799;  // the end of the year 9999
    if (const auto seconds = ParseInteger(fixed); seconds && *seconds >= 0 && *seconds <= kLatest) {
      now = std::chrono::sys_seconds(std::chrono::seconds(*seconds));
    }
  }
  const std::chrono::year_month_day day(std::chrono::floor<std::chrono::days>(now));
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(day.year()),
                     static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()));
}

}  // namespace

void AddOutputOptions(Verb& verb, OutputOptions& options) {
  options.made_by = {.version = verb.invocation().version, .command = verb.invocation().command};
  verb.AddFlag("--json", options.as_json, "print one JSON document");
  verb.AddOption("--html FILE", options.html_file, "write a page for a browser to this file");
  verb.AddChoice<ColorChoice>("--color", options.color,
                              {{"auto", ColorChoice::kAuto},
                               {"always", ColorChoice::kAlways},
                               {"never", ColorChoice::kNever}},
                              "colour text (default: auto, on a terminal without NO_COLOR)");
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
  if (options.html_file.empty()) {
    return {};
  }
  report::MadeBy made_by = options.made_by;
  made_by.date = DateText();
  return WriteFile(options.html_file, report::RenderHtml(document, made_by));
}

Result<int> Deliver(const Document& document, const OutputOptions& options, bool is_partial) {
  std::string text;
  if (options.as_csv) {
    ORRERY_TRY(text, report::RenderCsv(document, options.csv_table));
  } else {
    text = options.as_json ? report::RenderJson(document)
                           : report::RenderText(document, {.width = TextWidth(),
                                                           .has_color = HasColor(options.color)});
  }
  ORRERY_TRY_STATUS(WriteOutputFiles(document, options));
  Print(text);
  return is_partial ? kExitPartial : kExitOk;
}

std::size_t TextWidth() {
  return IsTerminal(STDOUT_FILENO) ? std::clamp<std::size_t>(TerminalWidth(STDOUT_FILENO), 80, 120)
                                   : draw::kPageWidth;
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

WrittenFiles::WrittenFiles(std::vector<std::string> paths) {
  for (std::string& path : paths) {
    const FileTime time = TimeOf(path);
    time_of_path_.emplace_back(std::move(path), time);
  }
}

void WrittenFiles::Say() const {
  for (const auto& [path, time_before] : time_of_path_) {
    std::error_code error;
    const auto type = std::filesystem::status(path, error).type();
    const bool is_file = type == std::filesystem::file_type::regular ||
                         type == std::filesystem::file_type::directory;
    if (is_file && TimeOf(path) != time_before && !IsStandardOutput(path)) {
      const std::string line = fmt::format("wrote {} ({})\n", VisibleText(path), SizeText(path));
      std::fwrite(line.data(), 1, line.size(), stderr);
    }
  }
}

ProgressLine::Options TerminalProgress() {
  return {.write =
              [](std::string_view text) {
                std::fwrite(text.data(), 1, text.size(), stderr);
                std::fflush(stderr);
              },
          .is_terminal = IsTerminal(STDERR_FILENO),
          .width = TerminalWidth(STDERR_FILENO),
          .now = Now,
          .ticks = true};
}

ProgressLine::Options TerminalProgress(const WorkDealer& dealer) {
  ProgressLine::Options options = TerminalProgress();
  if (!dealer.is_root()) {
    options.write = [](std::string_view) {};
  }
  return options;
}

}  // namespace orrery::cli
