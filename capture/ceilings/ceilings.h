#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <cuda_runtime.h>

namespace ceilings {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kGiB = int64_t{1} << 30;

/// Ends the program when a CUDA call failed: all later values would be meaningless.
void Check(cudaError_t status, const char* what);

/// Gives the blocks of a grid that fills the GPU.
int Blocks();

/// Writes rows `ceiling,value,unit,gpu,sm_mhz,mem_mhz,driver,cuda` with the clocks of the moment.
class Report {
 public:
  Report();
  void Row(const std::string& ceiling, double value, const char* unit);

 private:
  std::string driver_;
  std::string gpu_;
  std::string cuda_;
};

using Work = std::function<void()>;

/// The middle one of some values.
double Median(std::vector<double> values);

/// Times work on the GPU with events: short calls many at a time, until a quarter of a second is
/// spent. The seconds of one call, the median.
double MedianSeconds(const Work& work);

/// Each measures one side of the machine. Bandwidths count bytes read plus bytes written.
void MeasureMemory(Report& report);
void MeasureLink(Report& report);
void MeasureLaunches(Report& report);
void MeasureArithmetic(Report& report);

}  // namespace ceilings
