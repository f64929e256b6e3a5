#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/errors.h"
#include "orrery/api/search.h"
#include "orrery/api/search/answer.h"
#include "orrery/api/version.h"
#include "orrery/base/error.h"
#include "orrery/base/file/mapped_file.h"
#include "orrery/learn/data_set.h"
#include "orrery/overlap/learned_model.h"
#include "orrery/search/space.h"
#include "orrery/search/store/plan_store.h"
#include "orrery/search/store/store_repair.h"
#include "orrery/search/store/store_schema.h"

namespace orrery::api {
namespace {

Result<std::uint64_t> HashOfFiles(const std::vector<std::string>& paths) {
  std::uint64_t hash = 0;
  for (const std::string& path : paths) {
    ORRERY_TRY(const MappedFile file, MappedFile::Open(path));
    hash = learn::HashText(file.bytes(), hash);
  }
  return hash;
}

Result<search::StoreIdentity> IdentityOf(const SearchRequest& request, const search::Space& space) {
  std::vector<std::string> models = request.changes.kernel_models;
  const std::string overlap = overlap::InstalledModelPath();
  if (std::error_code ignored; !overlap.empty() && std::filesystem::exists(overlap, ignored)) {
    models.push_back(overlap);
  }
  ORRERY_TRY(const std::uint64_t model_hash, HashOfFiles(models));
  return search::StoreIdentity{
      .program = fmt::format("orrery {}, build {}", Version(), BuildId()),
      .models = models.empty() ? "shipped" : fmt::format("{:016x}", model_hash),
      .space = space.Hash(),
      .job_place = space.place(),
      .job_yaml = space.bases().front().yaml};
}

}  // namespace

Result<std::optional<search::PlanStore>> OpenStore(const SearchRequest& request,
                                                   const search::Space& space) {
  using Mode = search::PlanStore::Mode;
  if (request.store.empty()) {
    for (const auto& [is_given, option] :
         {std::pair(request.resume, "--resume"), std::pair(request.anyway, "--anyway"),
          std::pair(request.repair, "--repair")}) {
      if (is_given) {
        return InvalidInput("{} needs --store FILE", option);
      }
    }
    return std::nullopt;
  }
  if (request.repair && request.anyway) {
    return InvalidInput("--repair keeps plans that --anyway removes: name one of them");
  }
  ORRERY_TRY(const search::StoreIdentity identity, IdentityOf(request, space));
  const Mode mode = request.repair   ? Mode::kRepair
                    : request.anyway ? Mode::kAnyway
                    : request.resume ? Mode::kResume
                                     : Mode::kNew;
  ORRERY_TRY(search::PlanStore store, search::PlanStore::Open(request.store, identity, mode));
  return store;
}

std::string RepairNotice(const SearchRequest& request, const search::PlanStore& store) {
  const search::RepairedStore& repaired = store.repaired();
  if (repaired.dropped == 0 && !repaired.has_lost_more) {
    return fmt::format("{}: no record is damaged", request.store);
  }
  return fmt::format("{}: {} damaged record{} dropped{}, {} kept", request.store, repaired.dropped,
                     repaired.dropped == 1 ? " was" : "s were",
                     repaired.has_lost_more ? ", and those that could not be read" : "",
                     repaired.kept);
}

}  // namespace orrery::api
