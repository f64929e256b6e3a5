#include <memory>

#include "orrery/api/init.h"
#include "orrery/api/session.h"
#include "orrery/base/error.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/request_options.h"
#include "orrery/cli/verb.h"

namespace orrery::cli {
namespace {

struct InitArguments {
  api::InitRequest request;
  OutputOptions output;
};

Result<int> RunInit(const api::Session& session, const InitArguments& arguments) {
  ORRERY_TRY(const api::InitResult result, api::Init(session, arguments.request));
  return Deliver(api::MakeDocument(result), arguments.output, result.is_partial);
}

}  // namespace

void AddInitCommand(Verb& app) {
  const auto arguments = std::make_shared<InitArguments>();
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
  AddFieldOption(verb, arguments->request, "input", "FILE");
  verb.FindOption("FILE").Required();
  AddFieldOption(verb, arguments->request, "output", "-o,--output FILE");
  AddFieldOptions(verb, arguments->request, "gpus", "force");
  AddOutputOptions(verb, arguments->output);
  verb.OnRun([arguments](const api::Session& session) { return RunInit(session, *arguments); });
}

}  // namespace orrery::cli
