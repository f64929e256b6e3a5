#include <memory>

#include "orrery/api/search.h"
#include "orrery/api/session.h"
#include "orrery/base/concurrency/progress.h"
#include "orrery/base/concurrency/work_dealer.h"
#include "orrery/base/error.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/request_options.h"
#include "orrery/cli/verb.h"
#include "orrery/distribute/deal.h"

namespace orrery::cli {
namespace {

constexpr const char* kFooter =
    "JOB.yaml says model, training and machine. Its section `search` says which keys are free and\n"
    "within which values (docs/formats/search.md):\n"
    "  search: {plan.tp: [1, 2, 4, 8], plan.pp: divisors, training.micro_batch: powers_of_two,\n"
    "           memory_share: 0.92, must: [tp within node]}\n"
    "Without one, the plan of a transformer is free; --set fixes a key.\n\n"
    "The result is that of simulating every plan: a plan is left out only if it does not fit into\n"
    "memory or if a lower bound of its step is above that of all that are kept.\n\n"
    "Examples:\n"
    "  orrery search examples/llama3-70b-512-h100.yaml\n"
    "  orrery search job.yaml --gpus 64..1024 --objective tokens_per_gpu\n"
    "  orrery search job.yaml --set plan.cp=1 --budget 60s --json\n"
    "  orrery search job.yaml --gpus 64..256 --price H100=2.5 --html plans.html\n"
    "  orrery search job.yaml --store plans.orrdb --resume\n"
    "  orrery search job.yaml --emit megatron --plan 2";

struct SearchArguments {
  api::SearchRequest request;
  OutputOptions output;
};

Result<int> RunSearch(const api::Session& session, const SearchArguments& arguments,
                      WorkDealer& dealer) {
  api::SearchRequest request = arguments.request;
  request.needs_pictures = !arguments.output.html_file.empty();
  ProgressLine line(TerminalProgress(), "searching");
  request.call.progress = ReportTo(line);
  ORRERY_TRY(const api::SearchResult result, api::SearchWith(session, request, dealer));
  line.Clear();
  if (!dealer.is_root()) {
    return kExitOk;
  }
  if (result.repaired) {
    PrintNotice(*result.repaired);
  }
  if (result.out_of_memory) {
    PrintNotice(*result.out_of_memory);
    return kExitOutOfMemory;
  }
  return Deliver(api::MakeDocument(result), arguments.output, result.IsPartial());
}

}  // namespace

void AddSearchCommand(Verb& program) {
  const auto arguments = std::make_shared<SearchArguments>();
  api::SearchRequest& request = arguments->request;
  Verb verb = program.AddVerb("search", "The best plan for a training job, of all that fit");
  verb.Footer(kFooter);
  AddFieldOption(verb, request, "job", "JOB");
  verb.FindOption("JOB").Required();
  AddFieldOptions(verb, request, "set", "models");
  AddOutputOptions(verb, arguments->output);
  AddCsvOptions(verb, arguments->output);
  verb.OnRun([arguments](const api::Session& session) {
    return distribute::WithDealer(arguments->request.threads, [&](WorkDealer& dealer) {
      return RunSearch(session, *arguments, dealer);
    });
  });
}

}  // namespace orrery::cli
