#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "orrery/ingest/format.h"
#include "orrery/ingest/nsys_report/nsys_report.h"

namespace orrery::ingest {

namespace nsys {
const Format& GetFormat();
}

namespace nsys_report {
namespace {

// A folder of our own that is gone with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code failed;
    std::string pattern =
        (std::filesystem::temp_directory_path(failed) / "orrery-nsys-XXXXXX").string();
    if (!failed && mkdtemp(pattern.data()) != nullptr) {
      path_ = pattern;
    }
  }

  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) {
      std::filesystem::remove_all(path_, ignored);
    }
  }

  [[nodiscard]] const std::string& path() const { return path_; }  // empty: could not be made

 private:
  std::string path_;
};

bool Matches(const InputFile& file) {
  return LooksLikeReport(file.head());
}

Result<FileContent> ReadExport(const std::string& exported, const ReadOptions& options) {
  ORRERY_TRY(const InputFile file, InputFile::Open(exported, options.unpack));
  return nsys::GetFormat().read(file, options);
}

Result<FileContent> Read(const InputFile& report, const ReadOptions& options) {
  const TemporaryFolder folder;
  if (folder.path().empty()) {
    return Fail(Error::Kind::kSystem,
                report.path() + ": cannot make a temporary folder for its export; set TMPDIR");
  }
  const auto exported = ExportReport(report, folder.path());
  if (!exported) {
    return FailWithin(report.path(), exported);
  }
  auto content = ReadExport(*exported, options);
  if (!content) {
    return FailWithin(report.path(), content);
  }
  for (trace::Trace& trace : content->traces) {
    trace.info.files = {report.path()};
  }
  return content;
}

}  // namespace

const Format& GetFormat() {
  static const Format format{.name = "nsys report", .matches = Matches, .read = Read};
  return format;
}

}  // namespace nsys_report
}  // namespace orrery::ingest
