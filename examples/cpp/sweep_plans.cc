// Simulates a job once for each value of one of its keys.
//
//   sweep_plans examples/llama3-8b-fsdp-64-h100.yaml plan.tp 1 2 4

#include <cstdio>
#include <span>
#include <string>

#include "orrery/api/session.h"
#include "orrery/api/simulate.h"

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: sweep_plans JOB.yaml KEY VALUE...\n");
    return 2;
  }
  const std::string key = argv[2];
  // Models are loaded once, and estimates of operators are shared by all plans.
  const orrery::api::Session session;
  std::printf("%-10s %12s %8s %10s\n", key.c_str(), "step, s", "MFU", "memory, GB");
  for (const std::string value : std::span(argv + 3, argv + argc)) {
    const auto result = orrery::api::Simulate(
        session, {.jobs = {argv[1]}, .job = {.settings = {key + "=" + value}}, .step_only = true});
    if (!result) {
      std::printf("%-10s %s\n", value.c_str(), result.error().message().c_str());
      continue;
    }
    std::printf("%-10s %12.6f %7.1f%% %10.1f%s\n", value.c_str(), result->step_time_s,
                100 * result->mfu.value_or(0),
                static_cast<double>(result->memory_needed_bytes.value_or(0)) * 1e-9,
                result->out_of_memory ? "  does not fit" : "");
  }
}
