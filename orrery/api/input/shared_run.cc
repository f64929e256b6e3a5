#include "orrery/api/input/shared_run.h"

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "orrery/api/errors.h"
#include "orrery/base/error.h"
#include "orrery/ingest/run.h"
#include "orrery/trace/clock/clock_alignment.h"

namespace orrery::api {

const std::map<std::string, trace::AlignClocks>& AlignChoices() {
  static const std::map<std::string, trace::AlignClocks> kChoices{
      {"auto", trace::AlignClocks::kIfItMatters},
      {"always", trace::AlignClocks::kAlways},
      {"off", trace::AlignClocks::kNever}};
  return kChoices;
}

Result<trace::AlignClocks> AlignNamed(const std::string& word) {
  const auto choice = AlignChoices().find(word);
  if (choice == AlignChoices().end()) {
    return InvalidInput("align: auto, always or off, not {}", word);
  }
  return choice->second;
}

Result<std::shared_ptr<const ingest::Run>> ReadOnce(const RunInput& input, const SharedRun& shared,
                                                    const Progress& progress) {
  if (shared.run != nullptr) {
    return shared.run;
  }
  ORRERY_TRY(ingest::Run run, ReadRun(input, progress));
  return std::make_shared<const ingest::Run>(std::move(run));
}

Result<SharedRun> ReadAndAlign(const RunInput& input, const SharedRun& shared,
                               trace::AlignClocks align, const Progress& progress) {
  if (shared.run != nullptr) {
    if (shared.align != align) {
      return InvalidInput("the run was read with another choice of align; read it again with this");
    }
    return shared;
  }
  ORRERY_TRY(ingest::Run run, ReadRun(input, progress));
  const auto read = std::make_shared<ingest::Run>(std::move(run));
  auto aligned = std::make_shared<const trace::AlignedRun>(trace::MatchAndAlign(read->set, align));
  return SharedRun{.run = read, .aligned = std::move(aligned), .align = align};
}

}  // namespace orrery::api
