#include "orrery/base/packing.h"

#include <memory>
#include <string>
#include <string_view>

#include "orrery/base/byte_sink.h"
#include "orrery/base/byte_source.h"
#include "orrery/base/check.h"
#include "orrery/base/error.h"

namespace orrery {
namespace {

// Passes bytes on to a string that outlives the sink.
class StringSink : public ByteSink {
 public:
  explicit StringSink(std::string& target) : target_(target) {}

  Status Write(std::string_view bytes) override {
    target_ += bytes;
    return {};
  }

  Status Close() override { return {}; }

 private:
  std::string& target_;
};

}  // namespace

std::string Pack(std::string_view bytes, Compression compression) {
  std::string packed;
  const auto sink = Pack(std::make_unique<StringSink>(packed), compression);
  const bool done = sink->Write(bytes) && sink->Close();
  ORRERY_CHECK(done, "packing in memory cannot fail");
  return packed;
}

Compression CompressionOfName(std::string_view path) {
  if (path.ends_with(".gz")) {
    return Compression::kGzip;
  }
  return path.ends_with(".zst") ? Compression::kZstd : Compression::kNone;
}

Status WriteFile(const std::string& path, std::string_view bytes) {
  ORRERY_TRY(const std::unique_ptr<ByteSink> file, CreatePackedFile(path));
  ORRERY_TRY_STATUS(file->Write(bytes));
  return file->Close();
}

}  // namespace orrery
