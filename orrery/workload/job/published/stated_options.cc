#include "orrery/workload/job/published/stated_options.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "orrery/base/error.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/megatron_arguments.h"
#include "orrery/workload/job/megatron_options.h"
#include "orrery/workload/job/published/run_row.h"

namespace orrery::workload {
namespace {

constexpr std::string_view kSeparator = "; ";

// As on a command line: "hidden-dropout=0.0" is "--hidden-dropout 0.0", a switch that is on is its
// name alone.
std::string ArgumentOf(std::string_view name, std::string_view value) {
  const std::optional<MegatronOption> option = FindMegatronOption(name);
  const bool is_switch = option && !option->has_value;
  if (is_switch && value != "True") {
    return {};
  }
  return is_switch ? fmt::format("--{} ", name) : fmt::format("--{} '{}' ", name, value);
}

// All "name=value" of the text. What is no option of Megatron-LM has underscores in its name
// (variables of the environment).
std::string ArgumentsOf(std::string_view text) {
  std::string arguments;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(kSeparator), text.size());
    const std::string_view pair = text.substr(0, end);
    text.remove_prefix(std::min(end + kSeparator.size(), text.size()));
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) {
      continue;
    }
    const std::string_view name = pair.substr(0, equals);
    if (name.find('_') == std::string_view::npos && name.find('-') != std::string_view::npos) {
      arguments += ArgumentOf(name, pair.substr(equals + 1));
    }
  }
  return arguments;
}

}  // namespace

Result<std::optional<MegatronJob>> StatedOptionsOf(RunRow& row, const Framework& framework) {
  const std::string text = row.Text("options");
  if (text.find("transformer_impl=") == std::string::npos) {
    return std::nullopt;
  }
  std::string arguments = ArgumentsOf(text);
  arguments += row.Text("number_format") == "fp16" ? "--fp16 " : "--bf16 ";
  if (row.Text("ffn_act") == "swiglu") {
    arguments += "--swiglu";
  }
  auto job = ReadMegatronArguments(arguments, framework);
  if (!job) {
    return Unsupported("options: {}", job.error().message());
  }
  for (const std::string& unknown : job->unknown) {
    row.Assume(fmt::format("no effect of {}", unknown));
  }
  job->framework.has_eager_modules = true;
  return std::optional(std::move(*job));
}

}  // namespace orrery::workload
