#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "orrery/base/check.h"
#include "orrery/learn/forest.h"
#include "orrery/learn/model_file.h"
#include "orrery/learn/perceptron/perceptron.h"

namespace {

// Any bytes give a model or an error; what was read and written once stays the same. The content
// is tried alone too, because hardly any bytes have the right checksum.
void TryModel(const orrery::Result<orrery::learn::ModelFile>& model) {
  if (!model) {
    return;
  }
  const std::string once = orrery::learn::FormatModelFile(*model);
  const auto again = orrery::learn::ParseModelFile(once);
  ORRERY_CHECK(again.has_value(), "what we write can be read");
  ORRERY_CHECK(orrery::learn::FormatModelFile(*again) == once,
               "reading and writing change nothing");
}

void TryForest(std::string_view bytes) {
  const auto forest = orrery::learn::DecodeForest(bytes);
  if (!forest) {
    return;
  }
  const std::string once = orrery::learn::EncodeForest(*forest);
  const auto again = orrery::learn::DecodeForest(once);
  ORRERY_CHECK(again.has_value(), "what we write can be read");
  ORRERY_CHECK(orrery::learn::EncodeForest(*again) == once, "reading and writing change nothing");
}

// The perceptron keeps every bit of what it reads.
void TryPerceptron(std::string_view bytes) {
  const auto model = orrery::learn::Perceptron::Decode(bytes);
  ORRERY_CHECK(!model || model->Encode() == bytes, "reading and writing change nothing");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  TryModel(orrery::learn::ParseModelFile(bytes));
  TryModel(orrery::learn::ParseModelContent(bytes));
  TryForest(bytes);
  TryPerceptron(bytes);
  return 0;
}
