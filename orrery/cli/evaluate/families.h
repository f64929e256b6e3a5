#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "orrery/cli/evaluate/output.h"
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
struct FamilyEvaluation {
  std::string split;  // which rows were evaluated
  std::vector<Family> families;
  std::string not_used;  // rows, by name
  std::size_t rejected = 0;
};

void AddFamilies(const KernelEvaluationResult& kernels, FamilyEvaluation& evaluation);
void AddFamily(const collective::EvaluationResult& collectives, FamilyEvaluation& evaluation);

[[nodiscard]] std::string FamiliesText(const FamilyEvaluation& evaluation);

/// One JSON document; docs/formats/evaluate-json.md.
[[nodiscard]] std::string FamiliesJson(const FamilyEvaluation& evaluation);

}  // namespace orrery::cli
