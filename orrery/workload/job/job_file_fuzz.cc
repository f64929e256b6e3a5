#include <cstddef>
#include <cstdint>
#include <string>

#include "orrery/workload/job/job_draft.h"
#include "orrery/workload/job/job_file.h"
#include "orrery/workload/job/megatron_arguments.h"
#include "orrery/workload/model/hugging_face.h"
#include "orrery/workload/model/parameters.h"

using orrery::workload::HuggingFaceModel;
using orrery::workload::JobFile;

// The first byte says which of the readers of jobs and models gets the rest.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  if (data[0] % 4 == 0) {
    const orrery::Result<JobFile> job =
        orrery::workload::ReadJob({.yaml = text, .place = "fuzz", .folder = "/nonexistent"});
    if (job) {
      (void)orrery::workload::TotalParameters(job->job.model);
    }
  } else if (data[0] % 4 == 1) {
    const orrery::Result<HuggingFaceModel> model = orrery::workload::ReadHuggingFace(text);
    if (model) {
      (void)orrery::workload::MakeTransformer(model->shape);
    }
  } else if (data[0] % 4 == 2) {
    (void)orrery::workload::ReadMegatronArguments(text, {});
  } else {
    (void)orrery::workload::DraftJob(text, {.path = "fuzz", .folder = "/nonexistent"});
  }
  return 0;
}
