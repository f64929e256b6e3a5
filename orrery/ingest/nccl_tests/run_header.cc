#include "orrery/ingest/nccl_tests/run_header.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/text/parse_number.h"
#include "orrery/base/text/text.h"
#include "orrery/ingest/nccl_tests/column_layout.h"
#include "orrery/ingest/nccl_tests/run.h"
#include "orrery/trace/problems.h"

namespace orrery::ingest::nccl_tests {
namespace {

constexpr std::int64_t kMaxRank = 1'000'000;

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
  const std::string_view device = TextAfter(text, " device ");
  const std::size_t bracket = device.find(']');
  const bool is_torn = bracket == std::string_view::npos;
  problems.Note("incomplete device line", is_torn ? 1 : 0);
  const auto rank = ParsePrefix<std::int64_t>(TextAfter(text, "Rank"));
  if (!rank || *rank < 0 || *rank > kMaxRank) {
    return;
  }
  const std::string_view gpu =
      is_torn ? std::string_view() : TextAfter(device.substr(bracket), "]");
  run.devices.push_back({
      .rank = *rank,
      .group = ParsePrefix<std::int64_t>(TextAfter(text, "Group")).value_or(0),
      .host = std::string(is_torn ? std::string_view() : FirstWord(TextAfter(text, " on "))),
      .gpu = std::string(gpu.substr(0, gpu.find_last_not_of(" \t\r") + 1)),
  });
}

std::string_view WithoutLeadingBlanks(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
}

// "[1,0]<stdout>:"; a time stamp may stand before it.
std::string_view MpiTag(std::string_view line) {
  for (const std::string_view channel : {"<stdout>:", "<stderr>:"}) {
    const std::size_t at = line.find(channel);
    if (at != std::string_view::npos) {
      const std::size_t bracket = line.rfind('[', at);
      const std::size_t begin = bracket == std::string_view::npos ? at : bracket;
      return line.substr(begin, at + channel.size() - begin);
    }
  }
  return {};
}

bool IsProcessName(std::string_view word) {
  const bool is_label = word.size() > 1 && word.ends_with(':') && word != "rccl-tests:" &&
                        word.find('=') == std::string_view::npos;
  const bool is_bracketed = word.starts_with('[') && word.ends_with(']');
  return is_label || is_bracketed;
}

// Returns the line from its '#', if known header words follow; for lines with an unknown kind of
// prefix.
std::string_view FromHash(std::string_view line) {
  constexpr std::array<std::string_view, 8> kBeginnings{
      "nThread", "Rank", "size", "Using", "Out of", "Avg", "Collective", "nccl-tests"};
  constexpr std::ptrdiff_t kMaxBlanksBefore = 2;  // more is no prefix but a torn line
  const std::size_t hash = line.find('#');
  if (hash == std::string_view::npos ||
      std::count(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(hash), ' ') >
          kMaxBlanksBefore) {
    return {};
  }
  const std::string_view text = WithoutLeadingBlanks(line.substr(hash + 1));
  const bool is_header = std::ranges::any_of(
      kBeginnings, [&](std::string_view word) { return text.starts_with(word); });
  return is_header ? line.substr(hash) : std::string_view();
}

PrefixedLine SplitProcessName(std::string_view line) {
  const auto cut_after = [&](std::string_view prefix) -> PrefixedLine {
    return {prefix, line.substr(static_cast<std::size_t>(prefix.end() - line.begin()))};
  };
  const std::string_view text = WithoutLeadingBlanks(line);
  if (text.starts_with('#')) {
    return {{}, line};
  }
  if (const std::string_view tag = MpiTag(line); !tag.empty()) {
    return cut_after(tag);
  }
  const std::string_view word = FirstWord(text);
  const std::string_view after = WithoutLeadingBlanks(text.substr(word.size()));
  if (IsProcessName(word)) {
    return cut_after(word);
  }
  if (after.starts_with("| ")) {
    return {word, after.substr(1)};
  }
  if (const std::string_view header = FromHash(line); !header.empty()) {
    return {{}, header};
  }
  return {{}, line};
}

}  // namespace

HeaderLine ClassifyHeaderLine(std::string_view text) {
  constexpr auto kBeginnings = std::to_array<std::pair<std::string_view, HeaderLine>>(
      {{"nccl-tests version", HeaderLine::kStart},
       {"Collective test starting", HeaderLine::kStart},
       {"nThread", HeaderLine::kStart},
       {"Out of bounds", HeaderLine::kClosing},
       {"Avg bus bandwidth", HeaderLine::kClosing},
       {"Collective test concluded", HeaderLine::kClosing},
       {"Rank", HeaderLine::kDetail},
       {"Using devices", HeaderLine::kDetail}});
  const auto* const known = std::ranges::find_if(
      kBeginnings, [&](const auto& entry) { return text.starts_with(entry.first); });
  return known == kBeginnings.end() ? HeaderLine::kOther : known->second;
}

void ReadHeaderLine(std::string_view text, Run& run, trace::ProblemLog& problems) {
  if (text.starts_with("nccl-tests version")) {
    run.tests_version = FirstWord(TextAfter(text, "nccl-tests version"));
    if (const auto code = ParsePrefix<std::int64_t>(TextAfter(text, "nccl-library=")); code > 0) {
      run.nccl_version = VersionOfCode(*code);
    }
  } else if (text.starts_with("Collective test starting")) {
    run.test = TestOfProgram(FirstWord(TextAfter(text, ":")));
  } else if (text.starts_with("nThread")) {
    ReadOptions(text, run);
  } else if (text.starts_with("Rank")) {
    ReadDevice(text, run, problems);
  } else if (text.starts_with("Out of bounds")) {
    const auto wrong = ParsePrefix<std::int64_t>(TextAfter(text, ":"));
    problems.Note("result out of bounds according to the log", wrong.value_or(0));
  } else if (text.starts_with("Avg bus bandwidth")) {
    run.mean_busbw = ParsePrefix<double>(TextAfter(text, ":"));
  }
}

bool IsVersionLine(std::string_view line) {
  return line.find("rccl-tests: Version") != std::string_view::npos ||
         line.find("CCL version") != std::string_view::npos;
}

void ReadVersionLine(std::string_view line, Run& run) {
  if (const auto version = TextAfter(line, "rccl-tests: Version"); !version.empty()) {
    run.tests_version = "rccl-tests " + std::string(FirstWord(version));
  }
  if (const auto version = TextAfter(line, "CCL version"); !version.empty()) {
    const std::string_view word = FirstWord(version.substr(version.starts_with(": ") ? 2 : 0));
    run.nccl_version = word.substr(0, word.find('+'));
  }
}

std::string TestOfCommand(std::string_view line) {
  for (std::size_t at = line.find("_perf"); at != std::string_view::npos;
       at = line.find("_perf", at + 1)) {
    std::size_t begin = at;
    while (begin > 0 &&
           ((line[begin - 1] >= 'a' && line[begin - 1] <= 'z') || line[begin - 1] == '_')) {
      --begin;
    }
    std::string test = TestOfProgram(line.substr(begin, at - begin));
    if (IsKnownTest(test)) {
      return test;
    }
  }
  return {};
}

PrefixedLine SplitPrefix(std::string_view line) {
  const std::string_view text = WithoutLeadingBlanks(line);
  const std::string_view word = FirstWord(text);
  // "2026-01-31T12:00:00.123Z"
  const bool is_timestamp =
      word.size() >= 19 && word[4] == '-' && word[7] == '-' && word[10] == 'T';
  return SplitProcessName(is_timestamp ? text.substr(word.size()) : line);
}

}  // namespace orrery::ingest::nccl_tests
