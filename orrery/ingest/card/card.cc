#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/error.h"
#include "orrery/base/text/text.h"
#include "orrery/ingest/card/flatten_yaml.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/registry.h"
#include "orrery/trace/problems.h"
#include "orrery/trace/trace_set.h"

namespace orrery::ingest::card {
namespace {

constexpr std::int64_t kMaxBytes = 1 << 20;

// A key without indentation; the text need not be valid YAML.
bool NamesCard(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || line.starts_with(' ') || line.starts_with('\t')) {
    return false;
  }
  const std::string_view key = Trimmed(line.substr(0, colon), " \t\r\"'");
  return SameIgnoringCase(key, "workload") || SameIgnoringCase(key, "metric_source");
}

bool Matches(const InputFile& file) {
  std::string_view rest = file.head();
  if (rest.find('\0') != std::string_view::npos) {
    return false;
  }
  if (rest.starts_with("\xef\xbb\xbf")) {  // byte order mark
    rest.remove_prefix(3);
  }
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (NamesCard(rest.substr(0, end))) {
      return true;
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

// Twelve of the known cards omit the level `model_arch`.
void CompleteArchitecture(ScalarsByPath& values) {
  constexpr std::array<std::string_view, 10> kFields{
      "num_params", "num_params_active", "num_params_embedding", "num_layers",        "num_heads",
      "head_dim",   "num_kv_heads",      "hidden_size",          "intermediate_size", "vocab_size"};
  for (const std::string_view field : kFields) {
    const auto found = values.find(fmt::format("workload.model.{}", field));
    if (found != values.end()) {
      values.emplace(fmt::format("workload.model.model_arch.{}", field), found->second);
    }
  }
}

// "nsys, json" instead of a list, or inside one.
void SplitList(const std::string& path, ScalarsByPath& values) {
  std::string joined;
  const auto belongs = [&](const auto& value) {
    return value.first == path || value.first.starts_with(path + ".");
  };
  for (const auto& value : values) {
    joined += belongs(value) ? value.second + "," : "";
  }
  std::erase_if(values, belongs);
  std::string_view rest = joined;
  for (std::size_t index = 0; !rest.empty();) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = Trimmed(rest.substr(0, comma), " \t\r\"'");
    if (!item.empty()) {
      values.emplace(fmt::format("{}.{}", path, index++), item);
    }
    rest.remove_prefix(comma + 1);
  }
}

Result<trace::WorkloadCard> ReadCard(const InputFile& file, trace::ProblemLog& problems) {
  ORRERY_TRY(const std::string text, file.ReadText(kMaxBytes, problems));
  ORRERY_TRY(ScalarsByPath values, FlattenYaml(text, problems));
  if (values.empty()) {
    return Fail(Error::Kind::kInvalidInput, "it holds no value");
  }
  CompleteArchitecture(values);
  SplitList("metric_source.traces", values);
  SplitList("metric_source.metrics_specific_trace", values);
  return trace::WorkloadCard{.file = file.path(), .values = std::move(values)};
}

Result<FileContent> Read(const InputFile& file, const ReadOptions& /*options*/) {
  FileContent content;
  auto card = ReadCard(file, content.problems);
  if (card) {
    content.card = *std::move(card);
  } else {
    content.problems.Loss("workload card that cannot be used", 1, card.error().message());
  }
  return content;
}

}  // namespace

// Workload cards: YAML with a top-level key `workload` or `metric_source`. Keys are folded to
// lower case with underscores ("Model-executor" is "model_executor"), except names of environment
// variables. Empty values are absent. Fields of the architecture that stand directly under
// `workload.model` are also found under `workload.model.model_arch`, and lists of traces that are
// one text with commas are split. A card that does not parse is a problem with line and column,
// not an error: a run can be read without its card.
constinit const Format kFormat{.name = "workload card", .matches = Matches, .read = Read};

}  // namespace orrery::ingest::card
