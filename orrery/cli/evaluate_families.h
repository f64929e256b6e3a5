#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "orrery/cli/evaluate_output.h"
#include "orrery/collective/evaluation.h"
#include "orrery/learn/metrics.h"

namespace orrery::cli {

/// One line of `evaluate all`.
struct Family {
  std::string name;
  std::string timing;              // what the times hold; empty where there is one way only
  std::set<std::string> machines;  // GPUs or clusters
  learn::Evaluation figures;
};

/// What `evaluate all` found, family by family.
struct FamilyJudgement {
  std::string split;  // which rows were judged
  std::vector<Family> families;
  std::string not_used;  // rows, by name
  std::size_t rejected = 0;
};

void AddFamilies(const KernelJudgement& kernels, FamilyJudgement& judgement);
void AddFamily(const collective::Judgement& collectives, FamilyJudgement& judgement);

[[nodiscard]] std::string FamiliesText(const FamilyJudgement& judgement);

/// One JSON document; docs/formats/evaluate-json.md.
[[nodiscard]] std::string FamiliesJson(const FamilyJudgement& judgement);

}  // namespace orrery::cli
