// Measures the ceilings of a GPU machine and prints them as CSV, one row each.

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "ceilings.h"

namespace ceilings {
namespace {

/// Reads clocks and driver in the background through one nvidia-smi that keeps printing.
class Clocks {
 public:
  Clocks() : thread_([this] { Read(); }) { thread_.detach(); }

  int sm_mhz() const { return sm_mhz_; }

  int mem_mhz() const { return mem_mhz_; }

 private:
  // The pipe is never closed: nvidia-smi ends when its next line finds no reader.
  void Read() {
    FILE* pipe = popen(
        "exec nvidia-smi --query-gpu=clocks.sm,clocks.mem --format=csv,noheader,nounits -i 0 -lms "
        "100"
        " 2>/dev/null",
        "r");
    int sm = 0;
    int mem = 0;
    while (pipe != nullptr && std::fscanf(pipe, "%d , %d", &sm, &mem) == 2) {
      sm_mhz_ = sm;
      mem_mhz_ = mem;
    }
  }

  std::atomic<int> sm_mhz_{0};
  std::atomic<int> mem_mhz_{0};
  std::thread thread_;
};

std::string DriverVersion() {
  char line[64] = "";
  FILE* pipe =
      popen("nvidia-smi --query-gpu=driver_version --format=csv,noheader -i 0 2>/dev/null", "r");
  if (pipe != nullptr) {
    if (std::fgets(line, sizeof line, pipe) == nullptr) {
      line[0] = 0;
    }
    pclose(pipe);
  }
  std::string version(line);
  version.erase(version.find_last_not_of(" \n") + 1);
  return version;
}

/// Lives until the program ends, since its thread does.
Clocks& TheClocks() {
  static Clocks clocks;
  return clocks;
}

/// Times `count` calls of `work` between two events; seconds of one.
double OnceSeconds(const Work& work, int count) {
  cudaEvent_t begin;
  cudaEvent_t end;
  Check(cudaEventCreate(&begin), "event");
  Check(cudaEventCreate(&end), "event");
  Check(cudaEventRecord(begin), "event");
  for (int i = 0; i < count; ++i) {
    work();
  }
  Check(cudaEventRecord(end), "event");
  Check(cudaEventSynchronize(end), "timed work");
  Check(cudaGetLastError(), "timed work");
  float milliseconds = 0;
  Check(cudaEventElapsedTime(&milliseconds, begin, end), "event");
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return milliseconds * 1e-3 / count;
}

}  // namespace

void Check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) {
    std::fprintf(stderr, "ceilings: %s: %s\n", what, cudaGetErrorString(status));
    std::exit(1);
  }
}

int Blocks() {
  int multiprocessors = 0;
  Check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0), "attribute");
  return multiprocessors * 16;
}

Report::Report() : driver_(DriverVersion()) {
  cudaDeviceProp properties;
  Check(cudaGetDeviceProperties(&properties, 0), "reading the device");
  int runtime = 0;
  Check(cudaRuntimeGetVersion(&runtime), "reading the version");
  gpu_ = properties.name;
  cuda_ = std::to_string(runtime / 1000) + "." + std::to_string(runtime % 1000 / 10);
  std::printf("ceiling,value,unit,gpu,sm_mhz,mem_mhz,driver,cuda\n");
  TheClocks();
}

void Report::Row(const std::string& ceiling, double value, const char* unit) {
  std::printf("%s,%.6g,%s,%s,%d,%d,%s,%s\n", ceiling.c_str(), value, unit, gpu_.c_str(),
              TheClocks().sm_mhz(), TheClocks().mem_mhz(), driver_.c_str(), cuda_.c_str());
  std::fflush(stdout);
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

double MedianSeconds(const Work& work) {
  OnceSeconds(work, 2);
  const double rough = std::max(1e-7, OnceSeconds(work, 3));
  const int count = static_cast<int>(std::clamp(2e-3 / rough, 1.0, 1000.0));
  const int repeats = static_cast<int>(std::clamp(0.25 / (rough * count), 5.0, 100.0));
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i) {
    seconds.push_back(OnceSeconds(work, count));
  }
  return Median(seconds);
}

}  // namespace ceilings

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "ceilings: CUDA sees no GPU on this machine\n");
    return 2;
  }
  ceilings::Report report;
  ceilings::MeasureMemory(report);
  ceilings::MeasureLink(report);
  ceilings::MeasureLaunches(report);
  ceilings::MeasureArithmetic(report);
  return 0;
}
