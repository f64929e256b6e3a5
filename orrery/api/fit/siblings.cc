#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "orrery/api/cancellation.h"
#include "orrery/api/errors.h"
#include "orrery/api/fit.h"
#include "orrery/api/fit/input.h"
#include "orrery/api/input/job_input.h"
#include "orrery/api/input/measured_input.h"
#include "orrery/api/session.h"
#include "orrery/api/session_state.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_sink.h"
#include "orrery/calibrate/kernels/fit.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/measured/measurement.h"
#include "orrery/kernel/model_set.h"

namespace orrery::api {
namespace {

Result<kernel::Measurements> ReadRows(const FitSiblingsRequest& request) {
  ORRERY_TRY(kernel::Measurements data, kernel::ReadMeasurements(request.paths));
  std::vector<const hardware::Gpu*> chosen;
  for (const std::string& name : request.gpus) {
    ORRERY_TRY(chosen.emplace_back(), GpuNamed(name));
  }
  std::erase_if(data.rows, [&](const kernel::Measurement& row) {
    return !chosen.empty() && std::ranges::find(chosen, row.gpu) == chosen.end();
  });
  return data;
}

Result<FitSiblingsResult> Run(const Session& session, const FitSiblingsRequest& request) {
  ORRERY_TRY_STATUS(CheckPaths(request.paths));
  ORRERY_TRY_STATUS(CheckOutput(request.output));
  ORRERY_TRY(const kernel::Measurements data, ReadRows(request));
  ORRERY_TRY(const std::shared_ptr<const kernel::ModelSet> models, session.state().Models({}));
  kernel::SiblingLevels fitted;
  fitted.levels = calibrate::FitSiblingLevels(*models, data.rows);
  if (fitted.levels.empty()) {
    return InvalidInput(
        "{}: fewer than {} rows of any operator on a GPU that models of other GPUs cover{}",
        request.paths.front(), calibrate::kFewestRowsOfLevel,
        data.rejected.empty() ? "" : "\n" + RejectedText(data.files, data.rejected));
  }
  for (const std::string& path : request.paths) {
    fitted.sources.push_back(std::filesystem::path(path).filename().string());
  }
  ORRERY_TRY_STATUS(WriteFile(request.output, kernel::SiblingLevelsText(fitted)));
  FitSiblingsResult result{.output = request.output,
                           .operators = static_cast<std::int64_t>(fitted.levels.size()),
                           .rows = static_cast<std::int64_t>(data.rows.size())};
  NoteRejected(data, result);
  return result;
}

}  // namespace

Result<FitSiblingsResult> FitSiblings(const Session& session, const FitSiblingsRequest& request) {
  return RunCancellable(request.call, [&] { return Run(session, request); });
}

}  // namespace orrery::api
