#pragma once

#include "orrery/workload/plan/plan.h"

namespace orrery::workload {

/// How context-parallel ranks divide attention among them.
struct ContextRanks {
  int dealing = 1;  // neighbours that deal heads where tokens were dealt
  int ring = 1;     // that pass keys and values on
};

[[nodiscard]] inline ContextRanks ContextRanksOf(const Plan& plan) {
  switch (plan.context) {
    case ContextKind::kRing:
      return {.dealing = 1, .ring = plan.cp};
    case ContextKind::kAllGather:
      return {.dealing = 1, .ring = 1};
    case ContextKind::kUlysses:
      return {.dealing = plan.cp, .ring = 1};
    case ContextKind::kUlyssesRing:
      return {.dealing = plan.ulysses_ranks, .ring = plan.cp / plan.ulysses_ranks};
  }
  return {};
}

}  // namespace orrery::workload
