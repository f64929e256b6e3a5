#include <cstdio>
#include <fstream>
#include <string>

#include <dirent.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "experiment.h"
#include "machine.h"
#include "memory.h"

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

}  // namespace

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

}  // namespace managed
