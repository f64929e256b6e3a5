#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/error.h"
#include "orrery/base/mapped_file.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/search/search.h"
#include "orrery/cli/verb.h"
#include "orrery/learn/data_set.h"
#include "orrery/overlap/learned_model.h"
#include "orrery/search/plan_store.h"
#include "orrery/search/space.h"
#include "orrery/search/store_repair.h"
#include "orrery/search/store_schema.h"

namespace orrery::cli {
namespace {

constexpr const char* kProgramFile = "/proc/self/exe";  // with all shipped models and constants

Result<std::uint64_t> HashOfFiles(const std::vector<std::string>& paths) {
  std::uint64_t hash = 0;
  for (const std::string& path : paths) {
    ORRERY_TRY(const MappedFile file, MappedFile::Open(path));
    hash = learn::HashText(file.bytes(), hash);
  }
  return hash;
}

Result<search::StoreIdentity> IdentityOf(const SearchArguments& arguments,
                                         const search::Space& space) {
  ORRERY_TRY(const std::uint64_t program, HashOfFiles({kProgramFile}));
  std::vector<std::string> models = arguments.job.kernel_models;
  const std::string overlap = overlap::InstalledModelPath();
  if (std::error_code ignored; !overlap.empty() && std::filesystem::exists(overlap, ignored)) {
    models.push_back(overlap);
  }
  ORRERY_TRY(const std::uint64_t model_hash, HashOfFiles(models));
  return search::StoreIdentity{
      .program = fmt::format("{}, build {:016x}", arguments.output.made_by.version, program),
      .models = models.empty() ? "shipped" : fmt::format("{:016x}", model_hash),
      .space = space.Hash(),
      .job_place = space.place(),
      .job_yaml = space.bases().front().yaml};
}

std::string RepairNotice(const std::string& path, const search::RepairedStore& repaired) {
  if (repaired.dropped == 0 && !repaired.has_lost_more) {
    return fmt::format("{}: no record is damaged", path);
  }
  return fmt::format("{}: {} damaged record{} dropped{}, {} kept", path, repaired.dropped,
                     repaired.dropped == 1 ? " was" : "s were",
                     repaired.has_lost_more ? ", and those that could not be read" : "",
                     repaired.kept);
}

}  // namespace

Result<std::optional<search::PlanStore>> OpenStore(const SearchArguments& arguments,
                                                   const search::Space& space) {
  using Mode = search::PlanStore::Mode;
  if (arguments.store.empty()) {
    for (const auto& [is_given, option] : {std::pair(arguments.resumes, "--resume"),
                                           std::pair(arguments.computes_anyway, "--anyway"),
                                           std::pair(arguments.repairs, "--repair")}) {
      if (is_given) {
        return InvalidInput("{} needs --store FILE", option);
      }
    }
    return std::nullopt;
  }
  if (arguments.repairs && arguments.computes_anyway) {
    return InvalidInput("--repair keeps plans that --anyway removes: name one of them");
  }
  ORRERY_TRY(const search::StoreIdentity identity, IdentityOf(arguments, space));
  const Mode mode = arguments.repairs           ? Mode::kRepair
                    : arguments.computes_anyway ? Mode::kAnyway
                    : arguments.resumes         ? Mode::kResume
                                                : Mode::kNew;
  ORRERY_TRY(search::PlanStore store, search::PlanStore::Open(arguments.store, identity, mode));
  if (arguments.repairs) {
    PrintNotice(RepairNotice(arguments.store, store.repaired()));
  }
  return store;
}

}  // namespace orrery::cli
