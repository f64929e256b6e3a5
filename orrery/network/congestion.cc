#include "orrery/network/congestion.h"

#include <algorithm>
#include <cmath>

namespace orrery::network {

double CongestionModel::Goodput(double competing) const {
  if (competing <= 1) {
    return 1;
  }
  return std::max(parameters_.first - parameters_.slope * std::log2(competing), parameters_.floor);
}

}  // namespace orrery::network
