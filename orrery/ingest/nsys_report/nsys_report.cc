#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ios>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "orrery/base/error.h"
#include "orrery/base/file/unfinished_file.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/registry.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::nsys_report {
namespace {

constexpr const char* kHowToExport =
    "export it where Nsight Systems is installed, with \"nsys export --type sqlite "
    "--include-blobs=true FILE\", and give the SQLite file to orrery";

// nsys wants a plain file; compressed reports are decompressed next to the export.
Result<std::string> PlainPath(const InputFile& report, const std::string& folder) {
  if (report.is_plain_file()) {
    std::error_code failed;
    const auto path = std::filesystem::absolute(report.path(), failed);
    return failed ? report.path() : path.string();
  }
  std::string path = folder + "/report.nsys-rep";
  std::ofstream out(path, std::ios::binary);
  ORRERY_TRY(const auto content, report.OpenContent());
  std::vector<char> buffer(1 << 20);
  while (true) {
    ORRERY_TRY(const std::size_t count, content->Read(buffer));
    if (count == 0) {
      break;
    }
    out.write(buffer.data(), static_cast<std::streamsize>(count));
  }
  if (!out.flush()) {
    return Fail(Error::Kind::kSystem, fmt::format("cannot write {}", path));
  }
  return path;
}

// Runs a program found on PATH with its output in `log`; returns its exit status, or -1 and errno
// if it could not be started.
int RunProgram(const std::vector<std::string>& words, const std::string& log) {
  std::vector<char*> arguments;
  for (const std::string& word : words) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int code = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (code != 0) {
    errno = code;
    return -1;
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

std::string LastLine(const std::string& path) {
  std::ifstream in(path);
  std::string last;
  for (std::string line; std::getline(in, line);) {
    if (line.find_first_not_of(" \r\t") != std::string::npos) {
      last = line;
    }
  }
  return last.empty() ? "it printed nothing" : last;
}

// Has `nsys export` write the report as a SQLite database into `folder` and returns its path.
// Fails with a message on how to export it elsewhere where there is no `nsys`, or where it rejects
// the report (it reads reports of its own version and older).
Result<std::string> ExportReport(const InputFile& report, const std::string& folder) {
  ORRERY_TRY(const std::string plain, PlainPath(report, folder));
  std::string exported = folder + "/export.sqlite";
  const std::string log = folder + "/log";
  const int status = RunProgram({"nsys", "export", "--type", "sqlite", "--include-blobs=true",
                                 "--force-overwrite=true", "-o", exported, plain},
                                log);
  // A shell would say 127; some C libraries report a missing program that way too.
  if ((status == -1 && errno == ENOENT) || status == 127) {
    return Fail(Error::Kind::kUnsupported,
                fmt::format("this is a report of Nsight Systems, and there is no \"nsys\" on PATH "
                            "to export it; {}",
                            kHowToExport));
  }
  if (status != 0 || access(exported.c_str(), R_OK) != 0) {
    return Fail(Error::Kind::kUnsupported,
                fmt::format("\"nsys export\" could not read this report (it reads its own version "
                            "and older ones); {}; nsys reported: {}",
                            kHowToExport, LastLine(log)));
  }
  return exported;
}

// A temporary folder that is removed with the object, or by a signal that ends the program.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code failed;
    std::string pattern =
        (std::filesystem::temp_directory_path(failed) / "orrery-nsys-XXXXXX").string();
    if (!failed && mkdtemp(pattern.data()) != nullptr) {
      folder_.emplace(pattern);
    }
  }

  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  ~TemporaryFolder() {
    std::error_code ignored;
    if (folder_) {
      std::filesystem::remove_all(folder_->path(), ignored);
    }
  }

  // None where it could not be created.
  [[nodiscard]] const UnfinishedFile* Find() const { return folder_ ? &*folder_ : nullptr; }

 private:
  std::optional<UnfinishedFile> folder_;
};

Result<FileContent> Read(const InputFile& report, const ReadOptions& options) {
  const TemporaryFolder temporary;
  const UnfinishedFile* const folder = temporary.Find();
  if (folder == nullptr) {
    return Fail(Error::Kind::kSystem, "cannot make a temporary folder for its export; set TMPDIR");
  }
  ORRERY_TRY(const std::string exported, ExportReport(report, folder->path()));
  ORRERY_TRY(const InputFile file, InputFile::Open(exported, options.unpack));
  ORRERY_TRY(FileContent content, nsys::kFormat.Read(file, options));
  for (trace::Trace& trace : content.traces) {
    trace.info.files = {report.path()};
  }
  return content;
}

}  // namespace

// Reports of Nsight Systems (.nsys-rep), which `nsys export` converts.
constinit const Format kFormat{
    .name = "nsys report",
    .matches =
        [](const InputFile& file) {
          return file.head().starts_with("NVIDIA Tegra Profiler Report ");
        },
    .read = Read};

}  // namespace orrery::ingest::nsys_report
