#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "orrery/api/errors.h"
#include "orrery/api/input/trace_output.h"
#include "orrery/api/session.h"
#include "orrery/api/simulate.h"
#include "orrery/base/concurrency/progress.h"
#include "orrery/base/error.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/request_options.h"
#include "orrery/cli/verb.h"

namespace orrery::cli {
namespace {

using api::SimulateRequest;

constexpr const char* kFooter =
    "JOB.yaml says model, training, plan and cluster (docs/formats/job.md; examples/ has some).\n"
    "Programs of other tools are simulated as well: a workload text of SimAI, a folder of Chakra\n"
    "traces (.et) with --cluster, graphs of Echo with --echo-ops and --cluster.\n"
    "--from FOLDER simulates the ranks that `orrery trace` recorded on one GPU as the whole "
    "job.\n\n"
    "The breakdown is that of the slowest rank, with most work of its own, and adds up to the "
    "step.\n"
    "Advice was simulated: each change is given with its gain and the gain's 80 % interval, and "
    "none\n"
    "below 1 %. A job that does not fit into memory is an answer, not an error: the first line "
    "says\n"
    "so, with what takes most.\n\n"
    "Examples:\n"
    "  orrery simulate examples/llama3-70b-512-h100.yaml --html step.html\n"
    "  orrery simulate job.yaml --set plan.tp=4 --set training.micro_batch=2\n"
    "  orrery simulate job.yaml --slow rank=7:1.3 --trace step.pftrace\n"
    "  orrery simulate job.yaml --gpu B200 --json\n"
    "  orrery simulate job.yaml --steps 1000 --html steps.html\n"
    "  orrery simulate job.yaml --gpu-of ranks=8-15:A100-80GB --fail node=0:nic=2\n"
    "  orrery simulate --from llama-1b-fsdp64 --world 1024\n"
    "  orrery simulate workload.txt --emulate simai --with nvlink=360,nic=48.5";

struct SimulateArguments {
  SimulateRequest request;
  std::string trace;
  OutputOptions output;
};

Result<int> SimulateOne(const api::Session& session, const SimulateArguments& arguments,
                        const SimulateRequest& request) {
  ORRERY_TRY(const api::SimulateResult result, api::Simulate(session, request));
  ORRERY_TRY_STATUS(Deliver(api::MakeDocument(result), arguments.output));
  if (!arguments.trace.empty()) {
    ORRERY_TRY_STATUS(api::WriteTrace(result, arguments.trace));
  }
  return result.out_of_memory ? kExitOutOfMemory : kExitOk;
}

Result<int> SimulateSeveral(const api::Session& session, const SimulateArguments& arguments,
                            const SimulateRequest& request) {
  if (!arguments.trace.empty()) {
    return InvalidInput("--trace takes a single job; {} were given", request.jobs.size());
  }
  ORRERY_TRY(const api::SimulateTogetherResult result, api::SimulateTogether(session, request));
  ORRERY_TRY_STATUS(Deliver(api::MakeDocument(result), arguments.output));
  return result.AnyOutOfMemory() ? kExitOutOfMemory : kExitOk;
}

Result<int> RunSimulate(const api::Session& session, const SimulateArguments& arguments) {
  SimulateRequest request = arguments.request;
  if (!arguments.trace.empty()) {
    ORRERY_TRY_STATUS(api::TraceFormatOf(arguments.trace).map([](api::TraceFormat) {}));
  }
  if (!request.emulate.empty()) {
    ORRERY_TRY(const Document document, api::EmulateSimulator(request));
    return Deliver(document, arguments.output);
  }
  request.needs_pictures = !arguments.output.html_file.empty();
  ProgressLine line(TerminalProgress(), "simulating");
  request.call.progress = ReportTo(line);
  return api::HoldsSeveralJobs(request) ? SimulateSeveral(session, arguments, request)
                                        : SimulateOne(session, arguments, request);
}

}  // namespace

void AddSimulateCommand(Verb& app) {
  auto arguments = std::make_shared<SimulateArguments>();
  SimulateRequest& request = arguments->request;
  Verb verb = app.AddVerb("simulate", "The step time, memory and timeline of a training job");
  verb.Footer(kFooter);
  AddFieldOption(verb, request, "jobs", "JOB");
  AddFieldOptions(verb, request, "from", "max_tasks");
  AddOutputOptions(verb, arguments->output);
  verb.AddOption("--trace OUT", arguments->trace,
                 "write the step as traces: .orr, .json[.gz], .pftrace");
  AddFieldOptions(verb, request, "models", "gpus");
  AddFieldOption(verb, request, "emulate", "--emulate,--play MODEL");
  AddFieldOption(verb, request, "with");
  verb.OnRun([arguments](const api::Session& session) { return RunSimulate(session, *arguments); });
}

}  // namespace orrery::cli
