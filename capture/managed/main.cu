// Measures what managed memory costs while it fits, and prints rows of JSON.
//   managed [--only KIND,KIND] [--repeats N] [--seconds N]
//   managed --list

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include <dirent.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "runner.h"

namespace managed {
namespace {

std::string FirstLine(FILE* pipe) {
  char line[128] = "";
  if (pipe != nullptr && std::fgets(line, sizeof line, pipe) == nullptr) {
    line[0] = 0;
  }
  std::string text(line);
  text.erase(text.find_last_not_of(" \n") + 1);
  return text;
}

std::string DriverVersion() {
  FILE* pipe =
      popen("nvidia-smi --query-gpu=driver_version --format=csv,noheader -i 0 2>/dev/null", "r");
  const std::string version = FirstLine(pipe);
  if (pipe != nullptr) {
    pclose(pipe);
  }
  return version;
}

std::string ModuleSettings() {
  const std::string folder = "/sys/module/nvidia_uvm/parameters";
  std::string settings;
  DIR* entries = opendir(folder.c_str());
  while (const dirent* entry = entries == nullptr ? nullptr : readdir(entries)) {
    const std::string name = entry->d_name;
    std::string value;
    std::ifstream file(folder + "/" + name);
    if (name[0] != '.' && std::getline(file, value)) {
      settings += (settings.empty() ? "" : ", ") + Quoted(name) + ": " + Quoted(value);
    }
  }
  if (entries != nullptr) {
    closedir(entries);
  }
  return "{" + settings + "}";
}

int Attribute(cudaDeviceAttr attribute) {
  int value = 0;
  Check(cudaDeviceGetAttribute(&value, attribute, 0), "attribute");
  return value;
}

std::string VersionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// GPU, driver, CUDA, the host, and the settings of nvidia-uvm where they can be read, as a line of
/// JSON.
std::string MachineRow() {
  cudaDeviceProp properties;
  Check(cudaGetDeviceProperties(&properties, 0), "reading the device");
  int runtime = 0;
  int driver = 0;
  Check(cudaRuntimeGetVersion(&runtime), "reading the version");
  Check(cudaDriverGetVersion(&driver), "reading the version");
  utsname host{};
  uname(&host);
  const auto attribute = [](const char* name, cudaDeviceAttr which) {
    return std::string(", \"") + name + "\": " + std::to_string(Attribute(which));
  };
  return "{\"experiment\": \"machine\", \"gpu\": " + Quoted(properties.name) +
         ", \"driver\": " + Quoted(DriverVersion()) +
         ", \"cuda\": " + Quoted(VersionText(runtime)) +
         ", \"driver_cuda\": " + Quoted(VersionText(driver)) +
         ", \"host\": " + Quoted(std::string(host.machine) + " " + host.release) +
         ", \"host_page_bytes\": " + std::to_string(sysconf(_SC_PAGESIZE)) +
         ", \"host_cores\": " + std::to_string(sysconf(_SC_NPROCESSORS_ONLN)) +
         attribute("multiprocessors", cudaDevAttrMultiProcessorCount) +
         attribute("concurrent_managed_access", cudaDevAttrConcurrentManagedAccess) +
         attribute("pageable_memory_access", cudaDevAttrPageableMemoryAccess) +
         attribute("host_page_tables", cudaDevAttrPageableMemoryAccessUsesHostPageTables) +
         ", \"uvm_settings\": " + ModuleSettings() + "}";
}

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
  Check(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, 0), "attribute");
  if (concurrent == 0) {
    std::fprintf(stderr, "managed: this GPU or its driver does not move single pages\n");
  }
  return concurrent != 0;
}

int Measure(const std::string& kinds, int repeats, int seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  Runner runner(repeats);
  int left_out = 0;
  for (const Experiment& experiment : Plan()) {
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
}  // namespace managed

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--list") == 0) {
    for (const managed::Experiment& experiment : managed::Plan()) {
      std::printf("%s\n", managed::RowOf(experiment, {0}, {}).c_str());
    }
    return 0;
  }
  if (!managed::CanFault()) {
    return 2;
  }
  std::printf("%s\n", managed::MachineRow().c_str());
  return managed::Measure(managed::Text(argc, argv, "--only", ""),
                          std::atoi(managed::Text(argc, argv, "--repeats", "7")),
                          std::atoi(managed::Text(argc, argv, "--seconds", "50")));
}
