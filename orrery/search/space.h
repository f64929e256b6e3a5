#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/search/dimensions.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/job_file.h"

namespace orrery::search {

/// A plan by its number: the values of all dimensions, the first one most significant. Ties are
/// decided by it.
using PlanId = std::uint64_t;

/// The job and the options of a search.
struct SpaceRequest {
  workload::JobText text;
  std::vector<std::string> overrides = {};  // "plan.tp=4"
  std::vector<std::string> gpus = {};       // of the command line; empty: those of the job
  std::vector<std::string> clusters = {};   // the same
  /// Part of a GPU's usable memory that plans leave free; none: what the job's section says.
  std::optional<double> memory_reserve = {};
};

/// All plans of a job that a search considers.
///
/// Dimensions are those of the job's section `search`, or the usual ones of a transformer. Values
/// that change nothing are left out: without tensor parallelism, sequence parallelism counts once.
class Space {
 public:
  [[nodiscard]] static Result<Space> Of(const SpaceRequest& request);

  [[nodiscard]] const std::vector<Dimension>& dimensions() const { return dimensions_; }

  /// Share of a GPU's usable memory that a plan may need.
  [[nodiscard]] double memory_share() const { return memory_share_; }

  /// Ids are below it; most of them are no plans.
  [[nodiscard]] PlanId num_ids() const { return num_ids_; }

  /// The number of ids that share all values that change operators of layers.
  [[nodiscard]] PlanId layer_block() const { return layer_block_; }

  /// The same for the same dimensions of the same jobs.
  [[nodiscard]] std::uint64_t Hash() const;

  /// The file or other source of the job's text.
  [[nodiscard]] const std::string& place() const { return text_.place; }

  /// The values of a plan, one for each dimension; empty where the value changes nothing.
  [[nodiscard]] std::vector<std::string> ValuesOf(PlanId id) const;

  /// The index of a plan's value in each dimension.
  [[nodiscard]] std::vector<std::uint32_t> DigitsOf(PlanId id) const;
  [[nodiscard]] PlanId IdOf(std::span<const std::uint32_t> digits) const;

  /// Walks through the plans of a range of ids, in order.
  class Walk {
   public:
    Walk(const Space& space, PlanId first, PlanId last);

    /// Goes to the next plan that CheckJob accepts; false at the end.
    [[nodiscard]] bool Next();

    [[nodiscard]] PlanId id() const { return id_; }

    [[nodiscard]] const workload::Job& job() const { return job_; }

    /// The index of the job's combination of keys beside the plan.
    [[nodiscard]] std::size_t base() const { return base_; }

    /// Ids that CheckJob refused so far, and why the first of them was.
    [[nodiscard]] std::uint64_t refused() const { return refused_; }

    [[nodiscard]] const std::string& first_refusal() const { return first_refusal_; }

   private:
    [[nodiscard]] bool Apply();

    const Space& space_;
    PlanId next_;
    PlanId last_;
    PlanId id_ = 0;
    std::size_t base_;
    workload::Job job_;
    std::uint64_t refused_ = 0;
    std::string first_refusal_;
  };

  /// The job of a plan; fails where there is none.
  [[nodiscard]] Result<workload::Job> JobOf(PlanId id) const;

  /// The same as overrides of the job's file, "plan.tp=8", behind those that the caller gave: what
  /// makes `orrery simulate` simulate this plan.
  [[nodiscard]] std::vector<std::string> SettingsOf(PlanId id) const;

  /// Returns true if ReadJob takes these settings: not of a job that is given by Megatron's
  /// arguments.
  [[nodiscard]] bool TakesSettings() const;

  /// Jobs of the combinations of keys beside the plan.
  [[nodiscard]] const std::vector<workload::JobFile>& bases() const { return bases_; }

 private:
  [[nodiscard]] Status AddBases();
  [[nodiscard]] Status CheckBatches() const;
  [[nodiscard]] Status AddFastValues();
  void AddBlocks();

  workload::JobText text_;
  std::vector<std::string> overrides_;
  std::vector<Dimension> dimensions_;
  std::size_t num_slow_ = 0;   // dimensions that need the text read again; they come first
  std::vector<PlanId> block_;  // ids that share the value of a dimension and those before it
  std::vector<std::size_t> fast_key_;                          // by dimension after the slow ones
  std::vector<std::vector<workload::KeyValues>> fast_values_;  // the same, by value
  std::vector<workload::JobFile> bases_;
  PlanId num_ids_ = 1;
  PlanId layer_block_ = 1;
  double memory_share_ = 1;  // of Of
};

}  // namespace orrery::search
