#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/byte_sink.h"
#include "orrery/base/error.h"
#include "orrery/base/mapped_file.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/verb.h"
#include "orrery/draw/format.h"
#include "orrery/hardware/cluster.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/job_draft.h"
#include "orrery/workload/model/parameters.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::cli {
namespace {

struct InitArguments {
  std::string input;
  std::string output = "job.yaml";
  int gpus = 0;
  std::string cluster;
  std::vector<std::string> variables;  // "TP=4"
  bool replaces = false;
  OutputOptions delivery;
};

Result<workload::DraftRequest> RequestOf(const InitArguments& arguments) {
  workload::DraftRequest request{.path = arguments.input,
                                 .folder = std::filesystem::path(arguments.output).parent_path(),
                                 .gpus = arguments.gpus};
  if (!arguments.cluster.empty()) {
    ORRERY_TRY(const hardware::Cluster* const cluster, ClusterNamed(arguments.cluster));
    request.cluster = cluster->name;
  }
  for (const std::string& text : arguments.variables) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return InvalidInput("--set {}: must be NAME=VALUE, a variable of the script", text);
    }
    request.variables[text.substr(0, equals)] = {text.substr(equals + 1)};
  }
  return request;
}

std::string DescriptionOf(const workload::Job& job) {
  const workload::Plan& plan = job.plan;
  std::string degrees;
  for (const auto& [name, size] : {std::pair("tp", plan.tp),
                                   {"pp", plan.pp},
                                   {"cp", plan.cp},
                                   {"ep", plan.ep},
                                   {"dp", plan.dp}}) {
    degrees += size > 1 ? fmt::format(", {} {}", name, size) : "";
  }
  return fmt::format("{:.2f} B parameters{}, global batch {}, {} GPU{} of {}",
                     static_cast<double>(workload::TotalParameters(job.model)) * 1e-9, degrees,
                     draw::FormatCount(job.training.global_batch), draw::FormatCount(job.gpus),
                     job.gpus == 1 ? "" : "s", job.cluster.name);
}

Document DocumentOf(const InitArguments& arguments, const workload::JobDraft& draft) {
  Document document{
      .title = fmt::format("{}: job written from {}", arguments.output, arguments.input),
      .kind = "Orrery job"};
  Document::Section& section = document.AddSection();
  section.Say(DescriptionOf(draft.file.job)).Set("file", arguments.output);
  section.Add(Document::List{
      .key = "assumed", .heading = "Assumed; check it in the file", .items = draft.assumed});
  section.Add(Document::List{
      .key = "not_read", .heading = "Not read, or not modelled", .items = draft.not_read});
  section.Say(fmt::format("Next: orrery simulate {}", arguments.output));
  return document;
}

Result<int> Init(const InitArguments& arguments) {
  std::error_code error;
  if (!arguments.replaces && std::filesystem::exists(arguments.output, error)) {
    return InvalidInput("{}: there is such a file; -o NAME writes another, --force replaces it",
                        arguments.output);
  }
  ORRERY_TRY(const workload::DraftRequest request, RequestOf(arguments));
  ORRERY_TRY(const MappedFile file, MappedFile::Open(arguments.input));
  ORRERY_TRY(const workload::JobDraft draft, workload::DraftJob(file.bytes(), request));
  ORRERY_TRY_STATUS(WriteFile(arguments.output, draft.yaml));
  return Deliver(DocumentOf(arguments, draft), arguments.delivery, draft.is_partial);
}

}  // namespace

void AddInitCommand(Verb& app) {
  auto arguments = std::make_shared<InitArguments>();
  Verb verb =
      app.AddVerb("init", "Write a job file from a Hugging Face config or a Megatron script");
  verb.Footer(
      "FILE is a config.json of Hugging Face, or a shell script that starts Megatron-LM "
      "(arguments\n"
      "such as --num-layers) or NeMo (model.num_layers=32). Nothing is run: variables, arrays,\n"
      "defaults and #SBATCH lines of the script are read. Values that FILE does not say are "
      "assumed;\n"
      "they and what was not read are listed here and in comments of the job file.\n\n"
      "Examples:\n"
      "  orrery init config.json --gpus 64 --cluster 'DGX H200'\n"
      "  orrery init pretrain_gpt.sh --set TP=8 -o gpt.yaml && orrery simulate gpt.yaml");
  verb.AddOption("FILE", arguments->input, "config.json or launch script").Required();
  verb.AddOption("-o,--output FILE", arguments->output, "job file to write").ShowDefault();
  verb.AddOption("--gpus", arguments->gpus, "number of GPUs").Range(1, 1048576);
  verb.AddOption("--cluster NAME", arguments->cluster, "machine (orrery list clusters)");
  verb.AddOption("--set NAME=VALUE", arguments->variables,
                 "value of a shell variable of the script; may be repeated")
      .OneValueEach();
  verb.AddFlag("--force", arguments->replaces, "replace an existing job file");
  AddOutputOptions(verb, arguments->delivery);
  verb.OnRun([arguments] { return Init(*arguments); });
}

}  // namespace orrery::cli
