// Measures what managed memory costs while it fits, and prints rows of JSON.
//   managed [--only KIND,KIND] [--repeats N] [--seconds N]
//   managed --list

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <dirent.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "device.h"

namespace managed {
namespace {

/// Runs experiments, each so often after a first time that does not count.
class Runner {
 public:
  explicit Runner(int repeats);
  ~Runner();

  /// Prints the experiment's row.
  void Run(const Experiment& experiment);

 private:
  struct Times {
    int64_t total_ns = 0;
    int64_t call_ns = -1;
  };

  Times Once(const Experiment& experiment);
  Times OnFreshMemory(const Experiment& experiment);
  void Prepare(const Experiment& experiment);
  Times Measure(const Experiment& experiment, Memory& memory);
  void LaunchKernel(const Experiment& experiment, Memory& memory);
  Times TimeKernel(const Experiment& experiment, Memory& memory);
  Times TimePrefetch(const Experiment& experiment, Memory& memory);
  Times TimeBehind(const Experiment& experiment, Memory& memory);
  int64_t ElapsedNs() const;
  Times TimeOverlap(const Experiment& experiment, Memory& memory);
  void PutPagesOnGpu(const Experiment& experiment);

  int repeats_;
  Memory pool_;
  std::vector<uint32_t> pages_;  // of the experiment that runs
  uint32_t* gpu_pages_ = nullptr;
  int64_t* out_ = nullptr;
  cudaStream_t kernels_ = nullptr;
  cudaStream_t copies_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

constexpr int64_t kPoolBytes = 2048 * kMiB;
constexpr int64_t kMaxPages = 64 * kPagesPerBlock;

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void Finish(const char* what) {
  Check(cudaGetLastError(), what);
  Check(cudaDeviceSynchronize(), what);
}

Runner::Runner(int repeats) : repeats_(repeats), pool_(kPoolBytes) {
  Check(cudaMalloc(&gpu_pages_, kMaxPages * sizeof(uint32_t)), "memory");
  Check(cudaMalloc(&out_, sizeof(int64_t)), "memory");
  Check(cudaStreamCreateWithFlags(&kernels_, cudaStreamNonBlocking), "stream");
  Check(cudaStreamCreateWithFlags(&copies_, cudaStreamNonBlocking), "stream");
  Check(cudaEventCreate(&begin_), "event");
  Check(cudaEventCreate(&end_), "event");
}

Runner::~Runner() {
  cudaFree(gpu_pages_);
  cudaFree(out_);
  cudaStreamDestroy(kernels_);
  cudaStreamDestroy(copies_);
  cudaEventDestroy(begin_);
  cudaEventDestroy(end_);
}

void Runner::Run(const Experiment& experiment) {
  PutPagesOnGpu(experiment);
  std::vector<int64_t> total_ns;
  std::vector<int64_t> call_ns;
  for (int repeat = -1; repeat < repeats_; ++repeat) {
    const Times times = Once(experiment);
    if (repeat < 0) {
      continue;
    }
    total_ns.push_back(times.total_ns);
    if (times.call_ns >= 0) {
      call_ns.push_back(times.call_ns);
    }
  }
  std::printf("%s\n", RowOf(experiment, total_ns, call_ns).c_str());
  std::fflush(stdout);
}

void Runner::PutPagesOnGpu(const Experiment& experiment) {
  pages_ = PageOrder(experiment);
  Check(cudaMemcpy(gpu_pages_, pages_.data(), pages_.size() * sizeof(uint32_t),
                   cudaMemcpyHostToDevice),
        "copying page numbers");
}

Runner::Times Runner::Once(const Experiment& experiment) {
  if (experiment.backing != "written") {
    return OnFreshMemory(experiment);
  }
  Prepare(experiment);
  return Measure(experiment, pool_);
}

// Memory that the host has not written can be used for one experiment only.
Runner::Times Runner::OnFreshMemory(const Experiment& experiment) {
  Memory fresh(SpanBytes(experiment));
  if (experiment.backing == "touched") {
    fresh.WritePages(pages_);
  } else if (experiment.backing != "nobody") {
    fresh.CopyFromHost(experiment.bytes, experiment.backing == "copied_pinned");
  }
  return Measure(experiment, fresh);
}

void Runner::Prepare(const Experiment& experiment) {
  const int64_t bytes = SpanBytes(experiment);
  if (bytes == 0) {
    return;
  }
  const bool starts_on_gpu = (experiment.access == "to_host") != experiment.resident;
  if (starts_on_gpu) {
    pool_.BringToGpu(bytes);
  } else {
    pool_.WriteOnHost(bytes);
  }
}

Runner::Times Runner::Measure(const Experiment& experiment, Memory& memory) {
  LaunchMark();
  Finish("mark");
  if (experiment.kind == "prefetch") {
    return TimePrefetch(experiment, memory);
  }
  if (experiment.kind == "overlap") {
    return TimeOverlap(experiment, memory);
  }
  if (experiment.kind == "behind") {
    return TimeBehind(experiment, memory);
  }
  return TimeKernel(experiment, memory);
}

void Runner::LaunchKernel(const Experiment& experiment, Memory& memory) {
  const auto count = static_cast<int64_t>(pages_.size());
  if (experiment.kind == "chase") {
    LaunchChase(memory.data(), gpu_pages_, count, out_);
  } else if (experiment.kind == "lanes") {
    LaunchTouch(memory.data(), gpu_pages_, count, 32, out_);
  } else if (experiment.kind == "pages") {
    LaunchTouch(memory.data(), gpu_pages_, count, 256, out_);
  } else if (experiment.kind == "compute") {
    LaunchCompute(memory.data(), experiment.bytes, experiment.compute_ns, out_);
  } else if (experiment.access == "write") {
    LaunchWrite(memory.data(), experiment.bytes);
  } else {
    LaunchRead(memory.data(), experiment.bytes, out_);
  }
}

Runner::Times Runner::TimeKernel(const Experiment& experiment, Memory& memory) {
  Check(cudaEventRecord(begin_), "event");
  LaunchKernel(experiment, memory);
  Check(cudaEventRecord(end_), "event");
  Finish("kernel");
  return {ElapsedNs(), -1};
}

Runner::Times Runner::TimePrefetch(const Experiment& experiment, Memory& memory) {
  const int64_t bytes = experiment.bytes / experiment.calls;
  const int64_t begin_ns = NowNs();
  for (int64_t call = 0; call < experiment.calls; ++call) {
    Prefetch(memory.data() + call * bytes, bytes, experiment.access == "to_gpu", copies_);
  }
  const int64_t called_ns = NowNs();
  Finish("prefetch");
  return {NowNs() - begin_ns, called_ns - begin_ns};
}

// From the end of the work before the calls to the end of the empty kernel behind them.
Runner::Times Runner::TimeBehind(const Experiment& experiment, Memory& memory) {
  const int64_t bytes = experiment.bytes / experiment.calls;
  LaunchSpin(experiment.compute_ns, nullptr);
  Check(cudaEventRecord(begin_), "event");
  const int64_t begin_ns = NowNs();
  for (int64_t call = 0; call < experiment.calls; ++call) {
    Prefetch(memory.data() + call * bytes, bytes, true, nullptr);
  }
  const int64_t called_ns = NowNs();
  LaunchMark();
  Check(cudaEventRecord(end_), "event");
  Finish("prefetch behind work");
  return {ElapsedNs(), called_ns - begin_ns};
}

int64_t Runner::ElapsedNs() const {
  float milliseconds = 0;
  Check(cudaEventElapsedTime(&milliseconds, begin_, end_), "event");
  return static_cast<int64_t>(static_cast<double>(milliseconds) * 1e6);
}

// Host time from before the kernel's launch until both are done.
Runner::Times Runner::TimeOverlap(const Experiment& experiment, Memory& memory) {
  const int64_t begin_ns = NowNs();
  if (experiment.compute_ns > 0) {
    LaunchSpin(experiment.compute_ns, kernels_);
  }
  const int64_t launched_ns = NowNs();
  if (experiment.calls > 0) {
    Prefetch(memory.data(), experiment.bytes, experiment.access == "to_gpu", copies_);
  }
  const int64_t called_ns = NowNs();
  Finish("overlap");
  return {NowNs() - begin_ns, called_ns - launched_ns};
}

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
