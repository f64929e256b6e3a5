#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
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

}  // namespace

Result<std::optional<search::PlanStore>> OpenStore(const SearchArguments& arguments,
                                                   const search::Space& space) {
  using Mode = search::PlanStore::Mode;
  if (arguments.store.empty()) {
    if (arguments.resumes || arguments.computes_anyway) {
      return InvalidInput("{} needs --store FILE", arguments.resumes ? "--resume" : "--anyway");
    }
    return std::nullopt;
  }
  ORRERY_TRY(const search::StoreIdentity identity, IdentityOf(arguments, space));
  const Mode mode = arguments.computes_anyway ? Mode::kAnyway
                    : arguments.resumes       ? Mode::kResume
                                              : Mode::kNew;
  return search::PlanStore::Open(arguments.store, identity, mode);
}

}  // namespace orrery::cli
