#include "orrery/cli/inputs.h"

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "orrery/api/fields/run_fields.h"
#include "orrery/base/concurrency/progress.h"
#include "orrery/cli/request_options.h"
#include "orrery/cli/verb.h"

namespace orrery::cli {

api::Progress ReportTo(ProgressLine& line) {
  return [&line](std::int64_t done, std::int64_t total, std::string_view what) {
    line.Update(done, total, what);
  };
}

void AddRunOptions(Verb& verb, api::RunInput& input) {
  AddFieldOptions(verb, input, "threads", "step_marker");
}

void AddJobOptions(Verb& verb, api::JobInput& input) {
  verb.AddOption("--set KEY=VALUE", input.settings,
                 "change a key of the job: plan.tp=4; may be repeated")
      .OneValueEach();
  verb.AddOption("--gpu NAME", input.gpu, "another GPU (orrery list gpus)");
  verb.AddOption("--cluster NAME", input.cluster, "another machine (orrery list clusters)");
  verb.AddOption("--models FILE", input.kernel_models,
                 "models of `orrery fit kernels`, instead of the shipped ones");
}

std::filesystem::path ProgramFolder() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::filesystem::path() : self.parent_path();
}

}  // namespace orrery::cli
