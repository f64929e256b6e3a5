#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/document/json_value.h"
#include "orrery/base/error.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/base/text/text.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/nccl_tests/column_layout.h"
#include "orrery/ingest/nccl_tests/run.h"
#include "orrery/ingest/nccl_tests/run_header.h"
#include "orrery/ingest/registry.h"
#include "orrery/trace/problems.h"

namespace orrery::ingest::nccl_tests {
namespace {

using Json = std::optional<JsonElement>;

using TimingKey = std::pair<std::string_view, TimingField>;

constexpr auto kTimingKeys = std::to_array<TimingKey>({{"time", &Timing::time_us},
                                                       {"cpu_time", &Timing::cpu_time_us},
                                                       {"alg_bw", &Timing::algbw},
                                                       {"bus_bw", &Timing::busbw},
                                                       {"nwrong", &Timing::wrong}});

constexpr auto kIterationKeys =
    std::to_array<TimingKey>({{"min_us", &Timing::iteration_min_us},
                              {"max_us", &Timing::iteration_max_us},
                              {"p99_us", &Timing::iteration_p99_us},
                              {"cv_pct", &Timing::iteration_cv_percent}});

std::string TextField(const Json& object, std::string_view key) {
  return std::string(Text(Field(object, key)).value_or(""));
}

// Numbers that JSON cannot hold, and the root, are strings.
template <typename T>
std::optional<T> NumberField(const Json& object, std::string_view key) {
  const Json value = Field(object, key);
  T number{};
  if (value && !value->get(number)) {
    return number;
  }
  return ParsePrefix<T>(Trimmed(Text(value).value_or("")));
}

void ReadTimings(const Json& object, std::span<const TimingKey> keys, Timing& timing) {
  for (const auto& [key, field] : keys) {
    const auto number = NumberField<double>(object, key);
    timing.*field = number && std::isfinite(*number) ? number : std::nullopt;
  }
}

// The report names the first device of each process, whatever the process drives.
std::optional<std::int64_t> RanksOfProcesses(const Run& run) {
  const std::int64_t in_process =
      std::max<std::int64_t>(run.threads.value_or(1) * run.gpus_per_thread.value_or(1), 1);
  const bool has_only_first = std::ranges::all_of(
      run.devices, [&](const Device& device) { return device.rank % in_process == 0; });
  if (run.devices.empty() || in_process == 1 || !has_only_first) {
    return std::nullopt;  // one device line a rank, counted later
  }
  return static_cast<std::int64_t>(run.devices.size()) * in_process;
}

void ReadConfig(const Json& config, Run& run) {
  run.threads = NumberField<std::int64_t>(config, "nthreads");
  run.gpus_per_thread = NumberField<std::int64_t>(config, "ngpus");
  run.warmup_iters = NumberField<std::int64_t>(config, "warmup_iters");
  run.iters = NumberField<std::int64_t>(config, "iterations");
  run.aggregated_iters = NumberField<std::int64_t>(config, "aggregated_iterations");
  run.graph_launches = NumberField<std::int64_t>(config, "graph");
  ForEachElement(Field(config, "devices"), [&](const JsonElement& device) {
    run.devices.push_back({.rank = NumberField<std::int64_t>(device, "rank").value_or(0),
                           .group = NumberField<std::int64_t>(device, "group").value_or(0),
                           .host = TextField(device, "hostname"),
                           .gpu = TextField(device, "device_info")});
  });
  run.num_ranks = RanksOfProcesses(run);
}

Timing ReadTiming(const Json& result, std::string_view key) {
  Timing timing;
  if (const Json half = Field(result, key)) {
    ReadTimings(half, kTimingKeys, timing);
    ReadTimings(Field(half, "bitwise"),
                std::array{TimingKey{"different_bits", &Timing::bit_differences}}, timing);
    ReadTimings(Field(result, fmt::format("{}_per_iter", key)), kIterationKeys, timing);
  }
  return timing;
}

std::optional<Row> ReadRow(const Json& result) {
  const auto size = NumberField<std::int64_t>(result, "size");
  const auto count = NumberField<std::int64_t>(result, "count");
  if (!size || !count) {
    return std::nullopt;
  }
  return Row{.size_bytes = *size,
             .count = *count,
             .data_type = TextField(result, "type"),
             .redop = TextField(result, "redop"),
             .root = NumberField<std::int64_t>(result, "root"),
             .timing = {ReadTiming(result, "out_of_place"), ReadTiming(result, "in_place")},
             .timestamp = {}};
}

Run ReadDocument(const Json& document, trace::ProblemLog& problems) {
  Run run;
  ForEachElement(Field(document, "args"), [&](const JsonElement& argument) {
    run.test = run.test.empty() ? TestOfCommand(Text(argument).value_or("")) : run.test;
  });
  if (const auto code = NumberField<std::int64_t>(document, "nccl_version"); code > 0) {
    run.nccl_version = VersionOfCode(*code);
  }
  ReadConfig(Field(document, "config"), run);
  ForEachElement(Field(document, "results"), [&](const JsonElement& result) {
    if (auto row = ReadRow(result)) {
      run.rows.push_back(*std::move(row));
    } else {
      problems.Loss("result without size or count");
    }
  });
  return run;
}

// Returns the report up to its last complete result, closed by us; nothing if there is none.
// Results are objects in a list in the document: the third level.
std::optional<std::string> TruncateToCompleteResults(std::string_view text) {
  std::size_t end = 0;
  int depth = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      at += c == '\\' ? 1 : 0;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      end = c == '}' && depth == 3 ? at + 1 : end;
      --depth;
    }
  }
  if (end == 0) {
    return std::nullopt;
  }
  return std::string(text.substr(0, end)) + "]}";
}

// Reads a report of `-J`. A report that was truncated (the program is still running, or was
// killed) gives the results that are complete.
Result<std::vector<Run>> ParseJsonLog(std::string_view text, trace::ProblemLog& problems) {
  JsonText json;
  Json document = json.Parse(text);
  if (!document) {
    const auto complete = TruncateToCompleteResults(text);
    document = complete ? json.Parse(*complete) : std::nullopt;
    if (!document) {
      return Fail(Error::Kind::kInvalidInput, "the report of nccl-tests is not valid JSON");
    }
    problems.Loss("the report ends early; only complete results were read", 1,
                  fmt::format("byte {}", complete->size() - 2));
  }
  Run run = ReadDocument(document, problems);
  CompleteRun(run, problems);
  return std::vector{std::move(run)};
}

// The end of a incomplete row: numbers and nothing else.
bool IsRestOfRow(std::span<const Word> words) {
  return words.size() >= 3 && std::ranges::all_of(words, [](const Word& word) {
           return word.text.find_first_not_of("0123456789.e+-") == std::string_view::npos ||
                  word.text == "N/A";
         });
}

// Reads what the programs print, of any version and with any launcher prefix. One run for each
// execution that printed rows; incomplete rows are counted.
class TextLogParser {
 public:
  explicit TextLogParser(trace::ProblemLog& problems) : problems_(problems) {}

  std::vector<Run> Read(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      AddLine(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    std::erase_if(runs_, [](const Run& run) { return run.rows.empty(); });
    for (Run& run : runs_) {
      CompleteRun(run, problems_);
    }
    return std::move(runs_);
  }

 private:
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
      for (const std::string_view name : layout->unknown()) {
        problems_.Loss(fmt::format("unknown column: {}", name), 1, Place());
      }
      process.layout = layout;
      last_layout_ = std::move(layout);
    }
    if (kind != HeaderLine::kOther) {
      ReadHeaderLine(text, CurrentRun(process), problems_);
    }
    process.is_closed = process.is_closed || (kind == HeaderLine::kClosing && has_rows);
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

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 30;

bool IsJson(std::string_view head) {
  return head.substr(std::min(head.find_first_not_of(" \t\r\n"), head.size())).starts_with('{');
}

// Looks for the line of names around each "algbw".
bool HasColumnHeader(std::string_view head) {
  for (std::size_t at = head.find("algbw"); at != std::string_view::npos;
       at = head.find("algbw", at + 1)) {
    const std::size_t begin = head.rfind('\n', at) + 1;  // 0 in the first line
    const std::string_view line = head.substr(begin, head.find('\n', at) - begin);
    if (IsColumnHeader(SplitWords(line))) {
      return true;
    }
    at = begin + line.size() - 1;
  }
  return false;
}

bool Matches(const InputFile& file) {
  const std::string_view head = file.head();
  if (IsJson(head)) {
    return Contains(head, "\"nccl_version\"") && Contains(head, "\"nthreads\"") &&
           Contains(head, "\"ngpus\"");
  }
  const bool is_binary = head.find('\0') != std::string_view::npos;
  return !is_binary && (Contains(head, "# nccl-tests version") || Contains(head, "# nThread") ||
                        HasColumnHeader(head));
}

Result<FileContent> Read(const InputFile& file, const ReadOptions& /*options*/) {
  MeasurementTable table{.format = "nccl-tests", .file = file.path()};
  ORRERY_TRY(const std::string text, file.ReadText(kMaxBytes, table.problems));
  ORRERY_TRY(const std::vector<Run> runs, IsJson(text) ? ParseJsonLog(text, table.problems)
                                                       : TextLogParser(table.problems).Read(text));
  table.rows = ToTable(runs);
  return ContentOf(std::move(table), "an nccl-tests log without a complete row of results");
}

}  // namespace

// Output of nccl-tests and rccl-tests, as printed by any version or written with `-J`. Gives one
// table: test, nranks, size_bytes, count, data_type, redop, root; time_us, algbw_GBps, busbw_GBps
// and wrong out of place (oop_) and in place (ip_); then what the header says of the run.
constinit const Format kFormat{.name = "nccl-tests", .matches = Matches, .read = Read};

}  // namespace orrery::ingest::nccl_tests
