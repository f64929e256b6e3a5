// Measures what managed memory costs while it fits, and prints rows of JSON.
//   managed [--only KIND,KIND] [--repeats N] [--seconds N]
//   managed --list

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "machine.h"
#include "memory.h"
#include "runner.h"

namespace {

const char* Text(int argc, char** argv, const char* option, const char* otherwise) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], option) == 0) {
      return argv[i + 1];
    }
  }
  return otherwise;
}

bool CanFault() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "managed: CUDA sees no GPU on this machine\n");
    return false;
  }
  int concurrent = 0;
  managed::Check(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, 0),
                 "attribute");
  if (concurrent == 0) {
    std::fprintf(stderr, "managed: this GPU or its driver does not move single pages\n");
  }
  return concurrent != 0;
}

int Measure(const std::string& kinds, int repeats, int seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  managed::Runner runner(repeats);
  int left_out = 0;
  for (const managed::Experiment& experiment : managed::Plan()) {
    if (!kinds.empty() &&
        ("," + kinds + ",").find("," + experiment.kind + ",") == std::string::npos) {
      continue;
    }
    if (std::chrono::steady_clock::now() > end) {
      ++left_out;
    } else {
      runner.Run(experiment);
    }
  }
  if (left_out > 0) {
    std::fprintf(stderr, "managed: %d experiments left out, the time was over\n", left_out);
  }
  return left_out > 0 ? 3 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--list") == 0) {
    for (const managed::Experiment& experiment : managed::Plan()) {
      std::printf("%s\n", managed::RowOf(experiment, {0}, {}).c_str());
    }
    return 0;
  }
  if (!CanFault()) {
    return 2;
  }
  std::printf("%s\n", managed::MachineRow().c_str());
  return Measure(Text(argc, argv, "--only", ""), std::atoi(Text(argc, argv, "--repeats", "7")),
                 std::atoi(Text(argc, argv, "--seconds", "50")));
}
