#include <cmath>
#include <cstddef>
#include <cstdint>

#include "orrery/compat/echo/published.h"

// Any text gives a model or an error, and every walk through a model ends.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using orrery::compat::echo::Features;
  using orrery::compat::echo::SlowdownModel;
  const auto model = SlowdownModel::Parse({reinterpret_cast<const char*>(data), size});
  if (model) {
    static_cast<void>(model->Predict(Features{}));
    static_cast<void>(model->Predict({NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN}));
  }
  return 0;
}
