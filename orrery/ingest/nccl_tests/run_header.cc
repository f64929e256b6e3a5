#include "orrery/ingest/nccl_tests/run_header.h"

#include <algorithm>
#include <charconv>

#include "orrery/ingest/nccl_tests/column_layout.h"
#include "orrery/ingest/nccl_tests/infer_run.h"
#include "orrery/ingest/text_behind.h"

namespace orrery::ingest::nccl_tests {
namespace {

constexpr std::int64_t kMaxRank = 1'000'000;

template <typename T>
std::optional<T> ParsePrefix(std::string_view text) {
  T value{};
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

std::string_view FirstWord(std::string_view text) {
  return text.substr(0, text.find_first_of(" \t\r"));
}

// "nThread 1 nGpus 8 … warmup iters: 5 iters: 20 agg iters: 1 …": a value follows its name.
void ReadOptions(std::string_view text, Run& run) {
  const std::vector<Word> words = SplitWords(text);
  for (std::size_t index = 0; index + 1 < words.size(); ++index) {
    const std::string_view name = words[index].text;
    const auto value = ParsePrefix<std::int64_t>(words[index + 1].text);
    const std::string_view before = index == 0 ? std::string_view() : words[index - 1].text;
    if (name == "nThread") {
      run.threads = value;
    } else if (name == "nGpus") {
      run.gpus_per_thread = value;
    } else if (name == "graph:") {
      run.graph_launches = value;
    } else if (name == "iters:" && before == "warmup") {
      run.warmup_iters = value;
    } else if (name == "iters:" && before == "agg") {
      run.aggregated_iters = value;
    } else if (name == "iters:") {
      run.iters = value;
    }
  }
}

// "Rank  0 [Group  0] Pid  63453 on host device  0 [0x07] NVIDIA H200". Of a torn line we take the
// rank, because ranks are counted by these lines.
void ReadDevice(std::string_view text, Run& run, trace::ProblemLog& problems) {
  const std::string_view device = TextBehind(text, " device ");
  const std::size_t bracket = device.find(']');
  const bool is_torn = bracket == std::string_view::npos;
  problems.Note("torn device line", is_torn ? 1 : 0);
  const auto rank = ParsePrefix<std::int64_t>(TextBehind(text, "Rank"));
  if (!rank || *rank < 0 || *rank > kMaxRank) {
    return;
  }
  const std::string_view gpu =
      is_torn ? std::string_view() : TextBehind(device.substr(bracket), "]");
  run.devices.push_back({
      .rank = *rank,
      .group = ParsePrefix<std::int64_t>(TextBehind(text, "Group")).value_or(0),
      .host = std::string(is_torn ? std::string_view() : FirstWord(TextBehind(text, " on "))),
      .gpu = std::string(gpu.substr(0, gpu.find_last_not_of(" \t\r") + 1)),
  });
}

void ReadVersions(std::string_view text, Run& run) {
  run.tests_version = FirstWord(TextBehind(text, "nccl-tests version"));
  if (const auto code = ParsePrefix<std::int64_t>(TextBehind(text, "nccl-library=")); code > 0) {
    run.nccl_version = VersionOfCode(*code);
  }
}

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || c == '_';
}

}  // namespace

HeaderLine ClassifyHeaderLine(std::string_view text) {
  for (const std::string_view start :
       {"nccl-tests version", "Collective test starting", "nThread"}) {
    if (text.starts_with(start)) {
      return HeaderLine::kStart;
    }
  }
  for (const std::string_view closing :
       {"Out of bounds", "Avg bus bandwidth", "Collective test concluded"}) {
    if (text.starts_with(closing)) {
      return HeaderLine::kClosing;
    }
  }
  return text.starts_with("Rank") || text.starts_with("Using devices") ? HeaderLine::kDetail
                                                                       : HeaderLine::kOther;
}

void ReadHeaderLine(std::string_view text, Run& run, trace::ProblemLog& problems) {
  if (text.starts_with("nccl-tests version")) {
    ReadVersions(text, run);
  } else if (text.starts_with("Collective test starting")) {
    run.test = TestOfProgram(FirstWord(TextBehind(text, ":")));
  } else if (text.starts_with("nThread")) {
    ReadOptions(text, run);
  } else if (text.starts_with("Rank")) {
    ReadDevice(text, run, problems);
  } else if (text.starts_with("Out of bounds")) {
    const auto wrong = ParsePrefix<std::int64_t>(TextBehind(text, ":"));
    problems.Note("result out of bounds, as the log says", wrong.value_or(0));
  } else if (text.starts_with("Avg bus bandwidth")) {
    run.mean_busbw = ParsePrefix<double>(TextBehind(text, ":"));
  }
}

bool IsVersionLine(std::string_view line) {
  return line.find("rccl-tests: Version") != std::string_view::npos ||
         line.find("CCL version") != std::string_view::npos;
}

void ReadVersionLine(std::string_view line, Run& run) {
  if (const auto version = TextBehind(line, "rccl-tests: Version"); !version.empty()) {
    run.tests_version = "rccl-tests " + std::string(FirstWord(version));
  }
  if (const auto version = TextBehind(line, "CCL version"); !version.empty()) {
    const std::string_view word = FirstWord(version.substr(version.starts_with(": ") ? 2 : 0));
    run.nccl_version = word.substr(0, word.find('+'));
  }
}

std::string TestOfCommand(std::string_view line) {
  for (std::size_t at = line.find("_perf"); at != std::string_view::npos;
       at = line.find("_perf", at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && IsNameCharacter(line[begin - 1])) {
      --begin;
    }
    std::string test = TestOfProgram(line.substr(begin, at - begin));
    if (IsKnownTest(test)) {
      return test;
    }
  }
  return {};
}

}  // namespace orrery::ingest::nccl_tests
