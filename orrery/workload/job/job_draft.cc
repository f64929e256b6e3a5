#include "orrery/workload/job/job_draft.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "orrery/base/document/json_text.h"
#include "orrery/base/error.h"
#include "orrery/base/text/decimal.h"
#include "orrery/base/text/text.h"
#include "orrery/base/text/visible_text.h"
#include "orrery/workload/input.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job_file.h"
#include "orrery/workload/job/launch_script.h"
#include "orrery/workload/job/megatron_arguments.h"
#include "orrery/workload/job/megatron_options.h"
#include "orrery/workload/model/hugging_face.h"

namespace orrery::workload {
namespace {

constexpr std::string_view kUsualCluster = "DGX H100";
constexpr std::int64_t kUsualSequence = 4096;

std::string Comments(std::string_view title, const std::vector<std::string>& sentences) {
  std::string text = sentences.empty() ? "" : fmt::format("# {}:\n", title);
  for (const std::string& sentence : sentences) {
    text += fmt::format("#   - {}\n", VisibleText(sentence));
  }
  return text;
}

/// The lines of a job file and what is to say about them.
class Draft {
 public:
  Draft(const DraftRequest& request, std::string_view name) : request_(request) {
    Line(fmt::format("name: {}", QuoteJson(name)));
  }

  void Line(std::string_view line) { lines_ += fmt::format("{}\n", line); }

  // `why` says what else could be there.
  void Assume(std::string_view line, std::string_view why) {
    Line(fmt::format("{}  # assumed", line));
    draft_.assumed.push_back(fmt::format("{} ({})", Trimmed(line, " "), why));
  }

  void AddCluster() {
    if (request_.cluster.empty()) {
      Assume(fmt::format("cluster: {}", kUsualCluster),
             "the file names no machine; --cluster NAME");
    } else {
      Line(fmt::format("cluster: {}", QuoteJson(request_.cluster)));
    }
  }

  JobDraft& draft() { return draft_; }

  // Reads the lines as a job.
  [[nodiscard]] Result<JobFile> Read(std::string_view more = {}) const {
    return ReadJob(
        {.yaml = lines_ + std::string(more), .place = request_.path, .folder = request_.folder});
  }

  Result<JobDraft> Finish() && {
    ORRERY_TRY(draft_.file, Read());
    for (const std::string& sentence : draft_.file.not_modelled) {  // "no --vocab-size: …"
      (sentence.starts_with("no --") ? draft_.assumed : draft_.not_read).push_back(sentence);
    }
    draft_.yaml = fmt::format("# From {}, by orrery init.\n{}{}", VisibleText(request_.path),
                              Comments("Assumed, since the file does not say it", draft_.assumed),
                              Comments("Not read, or not modelled", draft_.not_read)) +
                  lines_;
    return std::move(draft_);
  }

 private:
  const DraftRequest& request_;
  std::string lines_;
  JobDraft draft_;
};

Result<JobDraft> DraftOfConfiguration(std::string_view json, const DraftRequest& request) {
  namespace fs = std::filesystem;
  auto model = ReadHuggingFace(json);
  if (!model) {
    return FailWithin(request.path, model);
  }
  std::error_code error;
  const fs::path path =
      fs::proximate(request.path, request.folder.empty() ? "." : request.folder, error);
  Draft draft(request, NameOfConfiguration(*model, request.path));
  draft.Line(fmt::format("model: {{hugging_face: {}}}", QuoteJson(path.string())));
  draft.Line("training:");
  if (model->shape.patch == 0) {
    // A type whose configuration may leave positions out has a default for them.
    const std::int64_t stated =
        model->max_positions > 0 ? model->max_positions : model->shape.positions;
    const std::int64_t longest = stated > 0 ? stated : kUsualSequence;
    draft.Assume(fmt::format("  sequence: {}", std::min(kUsualSequence, longest)),
                 fmt::format("tokens of a sample; the model is made for up to {}", longest));
  }
  const int gpus = request.gpus > 0 ? request.gpus : 8;
  draft.Assume("  micro_batch: 1", "samples per GPU at a time");
  draft.Assume(fmt::format("  global_batch: {}", gpus), "samples of a step, here one of each GPU");
  draft.Assume("  precision: bf16", "mixed precision with fp32 master weights");
  draft.Assume("plan: {sharding: fsdp}",
               "all GPUs are data parallel and share the states of training");
  draft.AddCluster();
  if (request.gpus > 0) {
    draft.Line(fmt::format("gpus: {}", gpus));
  } else {
    draft.Assume(fmt::format("gpus: {}", gpus), "one node; --gpus N");
  }
  return std::move(draft).Finish();
}

/// Arguments of Megatron-LM among the words of a command.
struct Arguments {
  std::vector<std::string> kept = {};    // "--num-layers 32"
  std::vector<std::string> unread = {};  // "--nnodes $NODES"
  bool is_nemo = false;

  [[nodiscard]] bool HasUnread(std::string_view name) const {
    return std::ranges::any_of(unread, [&](const std::string& argument) {
      return argument.starts_with(fmt::format("--{} ", name));
    });
  }

  void Add(std::string_view name, const std::vector<std::string>& values) {
    const auto option = FindMegatronOption(name);
    if (option && option->take == nullptr) {
      return;  // without effect on the time of a step
    }
    std::string dashed(name);
    std::ranges::replace(dashed, '_', '-');
    const std::string text =
        fmt::format("--{}{}{}", dashed, values.empty() ? "" : " ", fmt::join(values, " "));
    (Contains(text, "$") ? unread : kept).push_back(text);
  }
};

// NeMo's "model.num_layers=32" as Megatron's argument; other keys are left out.
void AddNemo(std::string_view word, Arguments& arguments) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kOtherNames{
      {{"trainer.num_nodes", "nnodes"},
       {"trainer.devices", "nproc-per-node"},
       {"model.encoder_seq_length", "seq-length"},
       {"model.virtual_pipeline_model_parallel_size", "num-virtual-stages-per-pipeline-rank"},
       {"model.activations_checkpoint_granularity", "recompute-granularity"},
       {"model.num_moe_experts", "num-experts"}}};
  word.remove_prefix(std::min(word.find_first_not_of('+'), word.size()));
  const std::string_view key = word.substr(0, word.find('='));
  const std::string value(word.substr(key.size() + 1));
  const auto* const other =
      std::ranges::find(kOtherNames, key, &std::pair<std::string_view, std::string_view>::first);
  const bool is_model = key.starts_with("model.");
  const std::string_view name = other != kOtherNames.end() ? other->second
                                : is_model                 ? key.substr(key.find('.') + 1)
                                                           : std::string_view();
  const auto option = FindMegatronOption(name);
  arguments.is_nemo = arguments.is_nemo || is_model;
  if (option && (option->has_value || LowerCase(value) == "true")) {
    arguments.Add(name, option->has_value ? std::vector{value} : std::vector<std::string>());
    if (name == "num_query_groups") {
      arguments.Add("group-query-attention", {});
    }
  } else if (key == "trainer.precision" && Contains(value, "16")) {
    arguments.Add(Contains(value, "bf16") ? "bf16" : "fp16", {});
  }
}

Arguments ArgumentsOf(const std::vector<std::string>& words) {
  Arguments arguments;
  for (std::size_t at = 0; at < words.size();) {
    const std::string& word = words[at++];
    const std::size_t equals = word.find('=');
    if (!word.starts_with("--")) {
      if (equals != std::string::npos && word.find('.') < equals) {
        AddNemo(word, arguments);
      } else if (word.starts_with('$')) {
        arguments.unread.push_back(word);
      }
      continue;
    }
    const std::string name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
    const auto option = FindMegatronOption(name);
    std::vector<std::string> values;
    if (equals != std::string::npos) {
      values.push_back(word.substr(equals + 1));
    }
    while (option && option->has_value && (values.empty() || option->is_list) &&
           at < words.size() && !words[at].starts_with("--")) {
      values.push_back(words[at++]);
    }
    arguments.Add(name, option ? values : std::vector<std::string>());
  }
  return arguments;
}

// The number of GPUs that the batch system was asked for; 0 when the script does not say it.
std::int64_t BatchGpus(const ShellVariables& variables) {
  const auto number = [&](std::string_view name) {
    const auto found = variables.find(name);
    const auto value = found == variables.end() || found->second.size() != 1
                           ? std::nullopt
                           : ParseInteger(found->second.front());
    return value.value_or(0);
  };
  const std::int64_t of_node =
      std::max(number("SLURM_GPUS_PER_NODE"), number("SLURM_NTASKS_PER_NODE"));
  return std::min<std::int64_t>(number("SLURM_NNODES"), 1'000'000) *
         std::min<std::int64_t>(of_node, 1'000);
}

// Adds the GPUs: what the user or the script says, else as few as the plan allows.
void AddGpus(const DraftRequest& request, const MegatronJob& job, std::int64_t batch_gpus,
             bool has_launcher, Draft& draft) {
  if (request.gpus > 0) {
    draft.Line(fmt::format("gpus: {}", request.gpus));
    return;
  }
  if (has_launcher && job.gpus) {
    draft.Line(fmt::format("gpus: {}  # nodes and GPUs per node of the launcher", *job.gpus));
    return;
  }
  if (batch_gpus > 0) {
    draft.Line(fmt::format("gpus: {}  # #SBATCH", batch_gpus));
    return;
  }
  std::int64_t gpus = std::int64_t{job.plan.tp} * job.plan.pp * job.plan.cp;
  for (std::int64_t factor = 1; factor <= 64; factor *= 2) {
    if (draft.Read(fmt::format("gpus: {}\n", factor * gpus))) {
      gpus *= factor;
      break;
    }
  }
  draft.Assume(fmt::format("gpus: {}", gpus), "the fewest that the plan allows; --gpus N");
}

std::string YamlOf(const Arguments& arguments) {
  std::string text = "megatron: >-";
  for (const std::string& argument : arguments.kept) {
    text += "\n  " + argument;
  }
  return text;
}

Result<JobDraft> DraftOfScript(std::string_view script, const DraftRequest& request) {
  Result<LaunchCommand> read = ReadLaunchScript(script, request.variables);
  if (!read) {
    return FailWithin(request.path, read);
  }
  LaunchCommand& command = *read;
  const Arguments arguments = ArgumentsOf(command.words);
  const std::string text = fmt::format("{}", fmt::join(arguments.kept, " "));
  const std::string_view framework = arguments.is_nemo ? "nemo" : "megatron-lm";
  auto job = ReadMegatronArguments(text, *FindFramework(framework));
  if (!job) {
    return FailWithin(request.path, job);
  }
  if (job->shape.layers == 0 || job->shape.hidden == 0) {
    return Refuse(
        "{}: no command in it has --num-layers and --hidden-size with a value: give the script "
        "that starts Megatron-LM, a config.json of Hugging Face, or --set NAME=VALUE for a shell "
        "variable{}",
        request.path,
        arguments.unread.empty() ? "" : fmt::format(" ({})", fmt::join(arguments.unread, ", ")));
  }
  Draft draft(request, std::filesystem::path(request.path).stem().string());
  draft.draft().assumed = std::move(command.assumed);
  for (const std::string& argument : arguments.unread) {
    draft.draft().not_read.push_back(fmt::format(
        "{}: the script does not set it; --set NAME=VALUE gives a shell variable", argument));
  }
  draft.draft().is_partial = !arguments.unread.empty();
  draft.Line(YamlOf(arguments));
  draft.Line(fmt::format("framework: {}", framework));
  draft.AddCluster();
  const bool has_launcher =
      !arguments.HasUnread("nnodes") && !arguments.HasUnread("nproc-per-node");
  AddGpus(request, *job, BatchGpus(command.variables), has_launcher, draft);
  return std::move(draft).Finish();
}

}  // namespace

Result<JobDraft> DraftJob(std::string_view text, const DraftRequest& request) {
  return Trimmed(text, " \t\r\n").starts_with('{') ? DraftOfConfiguration(text, request)
                                                   : DraftOfScript(text, request);
}

}  // namespace orrery::workload
