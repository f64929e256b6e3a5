#include <cmath>
#include <cstddef>
#include <cstdint>

#include "orrery/overlap/echo/echo_model.h"

// Any text gives a model or an error, and every walk through a model ends.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using orrery::overlap::echo::EchoModel;
  using orrery::overlap::echo::Features;
  const auto model = EchoModel::Parse({reinterpret_cast<const char*>(data), size});
  if (model) {
    static_cast<void>(model->Predict(Features{}));
    static_cast<void>(model->Predict({NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN}));
  }
  return 0;
}
