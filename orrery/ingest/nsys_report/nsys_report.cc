#include "orrery/ingest/nsys_report/nsys_report.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace orrery::ingest::nsys_report {
namespace {

constexpr std::string_view kMagic = "NVIDIA Tegra Profiler Report ";

constexpr const char* kHowToExport =
    "export it where Nsight Systems is installed, with \"nsys export --type sqlite "
    "--include-blobs=true FILE\", and give the SQLite file to orrery";

// nsys wants a plain file; packed reports are unpacked beside the export.
Result<std::string> PlainPath(const InputFile& report, const std::string& folder) {
  if (report.is_plain_file()) {
    std::error_code failed;
    const auto path = std::filesystem::absolute(report.path(), failed);
    return failed ? report.path() : path.string();
  }
  const std::string path = folder + "/report.nsys-rep";
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
  return last.empty() ? "it said nothing" : last;
}

}  // namespace

bool LooksLikeReport(std::string_view head) {
  return head.starts_with(kMagic);
}

Result<std::string> ExportReport(const InputFile& report, const std::string& folder) {
  ORRERY_TRY(const std::string plain, PlainPath(report, folder));
  const std::string exported = folder + "/export.sqlite";
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
                            "and older ones); {}; nsys said: {}",
                            kHowToExport, LastLine(log)));
  }
  return exported;
}

}  // namespace orrery::ingest::nsys_report
