#include "orrery/cli/inputs.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/api/run_fields.h"
#include "orrery/api/session_state.h"
#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/mapped_file.h"
#include "orrery/base/nearest_word.h"
#include "orrery/base/parse_number.h"
#include "orrery/base/progress.h"
#include "orrery/base/table.h"
#include "orrery/base/units.h"
#include "orrery/cli/output.h"
#include "orrery/cli/request_options.h"
#include "orrery/cli/verb.h"
#include "orrery/collective/machine_models.h"
#include "orrery/collective/measurement.h"
#include "orrery/collective/request.h"
#include "orrery/hardware/cluster.h"
#include "orrery/hardware/gpu.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/run.h"
#include "orrery/kernel/model_set.h"
#include "orrery/learn/data_set.h"
#include "orrery/learn/model_file.h"
#include "orrery/overlap/concurrent_kernels.h"
#include "orrery/overlap/learned_model.h"
#include "orrery/overlap/pair_table.h"
#include "orrery/simulate/simulation.h"
#include "orrery/trace/finish.h"
#include "orrery/workload/job/job_file.h"

namespace orrery::cli {

void AddRunOptions(Verb& verb, RunArguments& arguments) {
  AddFieldOptions(verb, arguments, "threads", "step_marker");
}

api::Session& ProgramSession() {
  static api::Session session;
  return session;
}

api::Progress ReportTo(ProgressLine& line) {
  return [&line](std::int64_t done, std::int64_t total, std::string_view what) {
    line.Update(done, total, what);
  };
}

Result<ingest::Run> ReadRunWithProgress(const RunArguments& arguments) {
  ORRERY_TRY_STATUS(trace::CheckStepMarker(arguments.step_marker));
  ProgressLine line(TerminalProgress(), "reading " + arguments.paths.front());
  return api::ReadRun(arguments, ReportTo(line));
}

Result<ingest::Run> ReadRunWithProgress(RunArguments arguments, std::vector<std::string> paths) {
  arguments.paths = std::move(paths);
  return ReadRunWithProgress(arguments);
}

void AddJobOptions(Verb& verb, JobArguments& arguments) {
  verb.AddOption("--set KEY=VALUE", arguments.settings,
                 "change a key of the job: plan.tp=4; may be repeated")
      .OneValueEach();
  verb.AddOption("--gpu NAME", arguments.gpu, "another GPU (orrery list gpus)");
  verb.AddOption("--cluster NAME", arguments.cluster, "another machine (orrery list clusters)");
}

void AddKernelModelsOption(Verb& verb, JobArguments& arguments) {
  verb.AddOption("--models FILE", arguments.kernel_models,
                 "models of `orrery fit kernels`, instead of the shipped ones");
}

Result<collective::Measurements> ReadMeasuredCollectives(const std::vector<std::string>& paths,
                                                         const std::string& cluster) {
  ORRERY_TRY(collective::Measurements data, api::ReadCollectives(paths, cluster));
  if (data.without_gpu > 0) {
    PrintNotice(api::UnnamedGpuNotice(data, cluster));
  }
  return data;
}

Result<std::shared_ptr<const kernel::ModelSet>> LoadKernelModels(
    const std::vector<std::string>& paths) {
  return ProgramSession().state().Models(paths);
}

std::filesystem::path ProgramFolder() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::filesystem::path() : self.parent_path();
}

}  // namespace orrery::cli
