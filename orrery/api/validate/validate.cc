#include "orrery/api/validate.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/api/cancellation.h"
#include "orrery/api/errors.h"
#include "orrery/api/session_state.h"
#include "orrery/api/simulate/overlap_option.h"
#include "orrery/api/validate/left_out.h"
#include "orrery/api/validate/output.h"
#include "orrery/base/check.h"
#include "orrery/base/concurrency/work_dealer.h"
#include "orrery/base/error.h"
#include "orrery/base/text/text.h"
#include "orrery/calibrate/framework_fit.h"
#include "orrery/calibrate/validation.h"
#include "orrery/kernel/model_set.h"
#include "orrery/simulate/explain/step_intervals.h"
#include "orrery/simulate/simulation.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/published/fitted_runs.h"
#include "orrery/workload/job/published/run_table.h"

namespace orrery::api {
namespace {

bool IsListed(const std::string& name, const std::vector<std::string>& listed) {
  return listed.empty() || std::ranges::any_of(listed, [&](const std::string& one) {
           return SameIgnoringCase(name, one);
         });
}

bool IsRequested(const workload::RunLabel& label, const ValidateRequest& request) {
  const bool has_source =
      LowerCase(label.source).find(LowerCase(request.source)) != std::string::npos;
  const bool has_grade = request.grades.empty() ||
                         std::ranges::find(request.grades, label.grade) != request.grades.end();
  return has_source && has_grade && IsListed(label.team, request.teams) &&
         IsListed(label.stack, request.stacks);
}

/// The requested rows; of teams with many at most as many as allowed, spread evenly over the table.
std::set<std::string> ChosenRows(const workload::RunTable& table, const ValidateRequest& request) {
  std::map<std::string, std::vector<std::string>> ids_of_team;
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    const workload::RunLabel label = table.Label(row);
    if (IsRequested(label, request)) {
      ids_of_team[label.team].push_back(label.id);
    }
  }
  std::set<std::string> chosen;
  for (const auto& [team, ids] : ids_of_team) {
    const std::size_t most =
        request.most_rows > 0 ? static_cast<std::size_t>(request.most_rows) : ids.size();
    const std::size_t count = std::min(most, ids.size());
    for (std::size_t i = 0; i < count; ++i) {
      chosen.insert(ids[i * ids.size() / count]);
    }
  }
  return chosen;
}

Result<workload::Mechanisms> MechanismsWithout(const std::vector<std::string>& names) {
  workload::Mechanisms mechanisms;
  for (const std::string& name : names) {
    const auto found =
        std::ranges::find(workload::kMechanismNames, name, &workload::MechanismName::name);
    if (found == workload::kMechanismNames.end()) {
      std::vector<std::string_view> known;
      std::ranges::transform(workload::kMechanismNames, std::back_inserter(known),
                             &workload::MechanismName::name);
      return InvalidInput("--without {}: no such mechanism; there are {}", name,
                          fmt::join(known, ", "));
    }
    mechanisms.*found->member = false;
  }
  return mechanisms;
}

Status CheckSettings(const std::vector<std::string>& settings) {
  workload::Framework framework;
  for (const std::string& setting : settings) {
    ORRERY_TRY_STATUS(workload::SetDeclared(setting, framework));
  }
  return {};
}

Result<simulate::SimulationOptions> EngineOptions(const Session& session,
                                                  const ValidateRequest& request) {
  simulate::SimulationOptions options;
  ORRERY_TRY(options.overlap, OverlapNamed(request.overlap));
  ORRERY_TRY_STATUS(session.state().SetOverlapModel(options));
  if (request.network == "alone" || request.network == "shared") {
    options.network.model = request.network == "alone" ? simulate::NetworkModel::kAlone
                                                       : simulate::NetworkModel::kShared;
  } else if (!request.network.empty()) {
    return InvalidInput("--network: '{}' is none of alone|shared", request.network);
  }
  return options;
}

struct Evaluated {
  calibrate::Validation validation;
  std::optional<OtherFits> other_fits = {};
};

/// A table with what its rows are evaluated by.
class Evaluation {
 public:
  Evaluation(const ValidateRequest& request, WorkDealer& dealer)
      : request_(request), dealer_(dealer) {}

  Result<Evaluated> Run(const Session& session) {
    ORRERY_TRY(table_, request_.truth.empty() ? workload::ShippedRunTable()
                                              : workload::OpenRunTable(request_.truth));
    ORRERY_TRY(models_, session.state().Models(request_.models));
    ORRERY_TRY(mechanisms_, MechanismsWithout(request_.without));
    ORRERY_TRY(options_.engine, EngineOptions(session, request_));
    const std::set<std::string> chosen = ChosenRows(*table_, request_);
    options_.filter = [&](const workload::RunLabel& label) { return chosen.contains(label.id); };
    ORRERY_TRY_STATUS(CheckSettings(request_.settings));
    options_.change = [&](const workload::RunLabel& label, workload::Job& job) {
      job.mechanisms = mechanisms_;
      for (const std::string& setting : request_.settings) {
        ORRERY_CHECK(workload::SetDeclared(setting, job.framework).has_value(), "was checked");
      }
      SetScalars(label, job);
    };
    options_.progress = [&](std::size_t done, std::size_t total) {
      if (request_.call.progress) {
        request_.call.progress(static_cast<std::int64_t>(done), static_cast<std::int64_t>(total),
                               "rows");
      }
    };
    Evaluated evaluated;
    ORRERY_TRY(evaluated.other_fits, ReadOtherFits(request_.frameworks));
    SetFits(evaluated.other_fits ? &*evaluated.other_fits : nullptr);
    ORRERY_TRY(evaluated.validation, calibrate::Validate(*table_, *models_, options_, dealer_));
    if (dealer_.is_root() && evaluated.validation.rows == 0) {
      return InvalidInput(
          "{}: no row has the requested source and grade; leave out --source "
          "or --grade to list them",
          request_.truth.empty() ? "data/published/training.csv" : request_.truth);
    }
    return evaluated;
  }

 private:
  // The fits that have not seen a row, those of a file, or the shipped ones.
  void SetFits(const OtherFits* other_fits) {
    other_fits_ = other_fits;
    if (request_.leave_team_out) {
      judges_ = JudgesWithout(*table_, *models_, options_, mechanisms_,
                              dealer_.is_root() ? request_.call : CallOptions());
      options_.intervals = [&](const workload::RunLabel& label) -> const simulate::StepIntervals& {
        return judges_.For(label).intervals;
      };
      options_.collectives = [&](const workload::RunLabel& label) {
        return &judges_.For(label).models.collectives;
      };
    } else if (other_fits_ != nullptr) {
      options_.intervals = [&](const workload::RunLabel&) -> const simulate::StepIntervals& {
        return other_fits_->intervals;
      };
    }
  }

  void SetScalars(const workload::RunLabel& label, workload::Job& job) const {
    if (request_.leave_team_out) {
      calibrate::CopyScalarsNamed(judges_.For(label).models.frameworks, job.framework);
    } else if (other_fits_ != nullptr) {
      calibrate::CopyScalarsNamed(other_fits_->frameworks, job.framework);
    }
  }

  const ValidateRequest& request_;
  WorkDealer& dealer_;
  std::unique_ptr<workload::RunTable> table_;
  std::shared_ptr<const kernel::ModelSet> models_;
  workload::Mechanisms mechanisms_;
  calibrate::ValidateOptions options_;
  const OtherFits* other_fits_ = nullptr;
  LeftOutJudges judges_;
};

Result<ValidateResult> EvaluateTimes(const Session& session, const ValidateRequest& request,
                                     WorkDealer& dealer) {
  ORRERY_TRY(const Evaluated evaluated, Evaluation(request, dealer).Run(session));
  if (!dealer.is_root()) {
    return ValidateResult();
  }
  const std::optional<OtherFits>& other_fits = evaluated.other_fits;
  const workload::FittedRuns& runs = other_fits ? other_fits->runs : workload::ShippedFittedRuns();
  return MakeResult(evaluated.validation,
                    request.leave_team_out ? LeftOutNote() : InSampleNote(runs));
}

Result<RankPlansResult> EvaluateOrder(const Session& session, const ValidateRequest& request,
                                      WorkDealer& dealer) {
  ORRERY_TRY(const Evaluated evaluated, Evaluation(request, dealer).Run(session));
  return dealer.is_root() ? MakeRanking(evaluated.validation) : RankPlansResult();
}

}  // namespace

Result<ValidateResult> Validate(const Session& session, const ValidateRequest& request) {
  ThreadDealer dealer(request.threads);
  return ValidateWith(session, request, dealer);
}

Result<ValidateResult> ValidateWith(const Session& session, const ValidateRequest& request,
                                    WorkDealer& dealer) {
  return RunCancellable(request.call, [&] { return EvaluateTimes(session, request, dealer); });
}

Result<RankPlansResult> RankPlans(const Session& session, const ValidateRequest& request) {
  ThreadDealer dealer(request.threads);
  return RankPlansWith(session, request, dealer);
}

Result<RankPlansResult> RankPlansWith(const Session& session, const ValidateRequest& request,
                                      WorkDealer& dealer) {
  return RunCancellable(request.call, [&] { return EvaluateOrder(session, request, dealer); });
}

report::Document MakeDocument(const ValidateResult& result) {
  report::Document document = *result.document;
  document.data = ToObject(result);
  return document;
}

report::Document MakeDocument(const RankPlansResult& result) {
  report::Document document = *result.document;
  document.data = ToObject(result);
  return document;
}

}  // namespace orrery::api
