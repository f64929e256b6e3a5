#include "orrery/api/input/job_source.h"

#include <string>

#include "orrery/api/errors.h"
#include "orrery/api/input/job_input.h"
#include "orrery/base/error.h"
#include "orrery/workload/job/job_file.h"

namespace orrery::api {

Result<workload::JobText> ReadJobText(const std::string& path, const std::string& yaml) {
  if (path.empty() && yaml.empty()) {
    return InvalidInput("JOB is required (orrery --help lists what there is)");
  }
  if (!path.empty() && !yaml.empty()) {
    return InvalidInput("job_yaml is the text of a job: {} is one too many", path);
  }
  return yaml.empty() ? workload::ReadJobText(path)
                      : Result<workload::JobText>(workload::JobText{.yaml = yaml, .place = "job"});
}

Result<workload::JobFile> ReadJob(const std::string& path, const std::string& yaml,
                                  const JobInput& changes) {
  ORRERY_TRY(const workload::JobText text, ReadJobText(path, yaml));
  return workload::ReadJob(text, OverridesOf(changes));
}

}  // namespace orrery::api
