// Measures the ceilings of a GPU machine and prints them as CSV, one row each.

#include <cstdio>

#include "ceilings.h"

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
