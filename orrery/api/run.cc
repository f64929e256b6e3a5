#include "orrery/api/run.h"

#include <memory>
#include <utility>

#include "orrery/api/call.h"
#include "orrery/api/input/run_input.h"
#include "orrery/base/error.h"
#include "orrery/ingest/run.h"

namespace orrery::api {

Result<std::shared_ptr<const ingest::Run>> OpenRun(const RunInput& input,
                                                   const Progress& progress) {
  ORRERY_TRY(ingest::Run run, ReadRun(input, progress));
  return std::make_shared<const ingest::Run>(std::move(run));
}

}  // namespace orrery::api
