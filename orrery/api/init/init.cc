#include "orrery/api/init.h"

#include <array>
#include <cstddef>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "orrery/api/cancellation.h"
#include "orrery/api/errors.h"
#include "orrery/api/fields.h"
#include "orrery/api/fields/documents.h"
#include "orrery/api/input/job_input.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_sink.h"
#include "orrery/base/file/mapped_file.h"
#include "orrery/draw/format.h"
#include "orrery/hardware/cluster.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/job_draft.h"
#include "orrery/workload/model/parameters.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::api {
namespace {

constexpr double kMostGpus = 1 << 20;

constexpr auto kRequestFields = std::to_array<Field<InitRequest>>({
    MakeField<&InitRequest::input>("input", "", "config.json or launch script").Placeholder("FILE"),
    MakeField<&InitRequest::output>("output", "", "job file to write")
        .Placeholder("FILE")
        .ShowsDefault(),
    MakeField<&InitRequest::gpus>("gpus", "", "number of GPUs").Range(1, kMostGpus),
    MakeField<&InitRequest::cluster>("cluster", "", "machine (orrery list clusters)")
        .Placeholder("NAME"),
    MakeField<&InitRequest::variables>("set", "",
                                       "value of a shell variable of the script; may be repeated")
        .Placeholder("NAME=VALUE")
        .Repeats(),
    MakeField<&InitRequest::replaces>("force", "", "replace an existing job file"),
});

constexpr auto kResultFields = std::to_array<Field<InitResult>>({
    MakeField<&InitResult::file>("file", "", "the job file"),
    MakeField<&InitResult::assumed>("assumed", "", "values that the input does not say"),
    MakeField<&InitResult::not_read>("not_read", "", "what was not read, or is not modelled"),
});

Result<workload::DraftRequest> DraftRequestOf(const InitRequest& request) {
  workload::DraftRequest draft{.path = request.input,
                               .folder = std::filesystem::path(request.output).parent_path(),
                               .gpus = request.gpus};
  if (!request.cluster.empty()) {
    ORRERY_TRY(const hardware::Cluster* const cluster, ClusterNamed(request.cluster));
    draft.cluster = cluster->name;
  }
  for (const std::string& text : request.variables) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return InvalidInput("--set {}: must be NAME=VALUE, a variable of the script", text);
    }
    draft.variables[text.substr(0, equals)] = {text.substr(equals + 1)};
  }
  return draft;
}

std::string Describe(const workload::Job& job) {
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

Result<InitResult> WriteJob(const InitRequest& request) {
  std::error_code error;
  if (!request.replaces && std::filesystem::exists(request.output, error)) {
    return InvalidInput("{}: there is such a file; -o NAME writes another, --force replaces it",
                        request.output);
  }
  ORRERY_TRY(const workload::DraftRequest draft_request, DraftRequestOf(request));
  ORRERY_TRY(const MappedFile file, MappedFile::Open(request.input));
  ORRERY_TRY(workload::JobDraft draft, workload::DraftJob(file.bytes(), draft_request));
  if (!request.output.empty()) {
    ORRERY_TRY_STATUS(WriteFile(request.output, draft.yaml));
  }
  return InitResult{.file = request.output,
                    .assumed = std::move(draft.assumed),
                    .not_read = std::move(draft.not_read),
                    .input = request.input,
                    .job_yaml = std::move(draft.yaml),
                    .description = Describe(draft.file.job),
                    .is_partial = draft.is_partial};
}

}  // namespace

ORRERY_SET_FIELDS(InitRequest, kRequestFields)
ORRERY_SET_FIELDS(InitResult, kResultFields)

Result<InitResult> Init(const Session& /*session*/, const InitRequest& request) {
  return RunCancellable(request.call, [&] { return WriteJob(request); });
}

Document MakeDocument(const InitResult& result) {
  Document document{.title = fmt::format("{}: job written from {}", result.file, result.input),
                    .kind = "Orrery job"};
  Document::Section& section = document.AddSection();
  section.Say(result.description);
  section.Add(Document::List{
      .key = "", .heading = "Assumed; check it in the file", .items = result.assumed});
  section.Add(
      Document::List{.key = "", .heading = "Not read, or not modelled", .items = result.not_read});
  section.Say(fmt::format("Next: orrery simulate {}", result.file));
  document.data = ToObject(result);
  return document;
}

}  // namespace orrery::api
