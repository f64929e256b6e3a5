#include "orrery/ingest/nccl_tests/text_log.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "orrery/ingest/nccl_tests/column_layout.h"
#include "orrery/ingest/nccl_tests/run_header.h"

namespace orrery::ingest::nccl_tests {
namespace {

std::string_view Trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t\r"), text.size());
  return text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

// The end of a incomplete row: numbers and nothing else.
bool IsRestOfRow(std::span<const Word> words) {
  return words.size() >= 3 && std::all_of(words.begin(), words.end(), [](const Word& word) {
           return word.text.find_first_not_of("0123456789.e+-") == std::string_view::npos ||
                  word.text == "N/A";
         });
}

class TextLogParser {
 public:
  explicit TextLogParser(trace::ProblemLog& problems) : problems_(problems) {}

  void AddLine(std::string_view line) {
    ++line_number_;
    const PrefixedLine parts = SplitPrefix(line);
    Process& process = processes_[std::string(parts.prefix)];
    const std::string_view text = Trimmed(parts.content);
    if (text.starts_with('#')) {
      AddHeaderLine(parts.content, Trimmed(text.substr(1)), process);
    } else if (text == "..." || text == "…") {
      problems_.Note("lines omitted from the log ('...')", 1, Place());
    } else if (!AddRows(parts.content, process)) {
      AddOtherLine(line, process);
    }
  }

  std::vector<Run> Finish() {
    std::vector<Run> with_rows;
    for (Run& run : runs_) {
      if (!run.rows.empty()) {
        CompleteRun(run, problems_);
        with_rows.push_back(std::move(run));
      }
    }
    return with_rows;
  }

 private:
  // Lines of several processes may alternate; each process prints its own runs.
  struct Process {
    std::optional<std::size_t> run;  // into runs_
    bool is_closed = false;
    std::optional<ColumnLayout> layout;
    std::int64_t last_row_line = 0;
  };

  Run& CurrentRun(Process& process) {
    if (!process.run) {
      process.run = runs_.size();
      runs_.emplace_back();
    }
    return runs_[*process.run];
  }

  void AddHeaderLine(std::string_view content, std::string_view text, Process& process) {
    const HeaderLine kind = ClassifyHeaderLine(text);
    auto layout = ColumnLayout::FromHeader(content);
    const bool has_rows = process.run && !runs_[*process.run].rows.empty();
    const bool begins_run =
        process.is_closed && (kind == HeaderLine::kDetail || layout.has_value());
    if ((kind == HeaderLine::kStart && has_rows) || begins_run) {
      process.run.reset();
      process.is_closed = false;
    }
    if (layout) {
      NoteUnknownColumns(*layout);
      process.layout = layout;
      last_layout_ = std::move(layout);
    }
    if (kind != HeaderLine::kOther) {
      ReadHeaderLine(text, CurrentRun(process), problems_);
    }
    process.is_closed = process.is_closed || (kind == HeaderLine::kClosing && has_rows);
  }

  void NoteUnknownColumns(const ColumnLayout& layout) {
    for (const std::string_view name : layout.unknown()) {
      problems_.Loss(fmt::format("unknown column: {}", name), 1, Place());
    }
  }

  // Returns false if no row begins in this line. More than one can: a line end may be missing.
  bool AddRows(std::string_view content, Process& process) {
    const std::vector<Word> words = SplitWords(content);
    std::span<const Word> rest(words);
    std::int64_t num_begun = 0;
    std::int64_t num_torn = 0;
    bool has_other_text = false;
    while (!rest.empty()) {
      std::size_t num_words = 1;
      if (BeginsRow(rest)) {
        ++num_begun;
        num_words = AddRow(rest, process);
        num_torn += num_words == 0 ? 1 : 0;
        num_words = std::max<std::size_t>(num_words, 1);
      } else {
        has_other_text = true;
      }
      rest = rest.subspan(num_words);
    }
    problems_.Loss("incomplete row", num_torn, Place());
    if (num_begun > 0 && num_torn == 0 && has_other_text) {
      problems_.Note("other text in the line of a row", 1, Place());
    }
    if (num_begun == 0 && IsRestOfRow(words)) {
      problems_.Note("fragment of an incomplete row", 1, Place());
    }
    return num_begun > 0;
  }

  // Returns how many words the row has, 0 if it is not complete.
  std::size_t AddRow(std::span<const Word> words, Process& process) {
    const ColumnLayout* const layout = LayoutFor(words.size(), process);
    auto parsed = layout == nullptr ? std::nullopt : layout->ParseRow(words);
    if (!parsed) {
      return 0;
    }
    Run& run = CurrentRun(process);
    // A command line that an earlier run has used names that one.
    if (run.rows.empty() && run.test.empty() && command_line_ > process.last_row_line) {
      run.test = command_test_;
    }
    run.rows.push_back(std::move(parsed->row));
    process.last_row_line = line_number_;
    return parsed->num_words;
  }

  const ColumnLayout* LayoutFor(std::size_t num_words, const Process& process) {
    if (process.layout) {
      return &*process.layout;
    }
    if (last_layout_) {
      return &*last_layout_;
    }
    assumed_layout_ = ColumnLayout::Assumed(num_words);
    if (!assumed_layout_) {
      return nullptr;
    }
    problems_.Note("row without a header; columns inferred from their number", 1, Place());
    return &*assumed_layout_;
  }

  void AddOtherLine(std::string_view line, Process& process) {
    if (std::string test = TestOfCommand(line); !test.empty()) {
      command_test_ = std::move(test);
      command_line_ = line_number_;
    }
    if (IsVersionLine(line)) {
      ReadVersionLine(line, CurrentRun(process));
    }
  }

  [[nodiscard]] std::string Place() const { return fmt::format("line {}", line_number_); }

  trace::ProblemLog& problems_;
  std::int64_t line_number_ = 0;
  std::vector<Run> runs_;
  std::map<std::string, Process> processes_;
  std::optional<ColumnLayout> last_layout_;
  std::optional<ColumnLayout> assumed_layout_;
  std::string command_test_;
  std::int64_t command_line_ = 0;
};

}  // namespace

std::vector<Run> ParseTextLog(std::string_view text, trace::ProblemLog& problems) {
  TextLogParser parser(problems);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    parser.AddLine(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parser.Finish();
}

}  // namespace orrery::ingest::nccl_tests
