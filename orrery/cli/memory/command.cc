#include <memory>
#include <string>

#include <fmt/core.h>
#include <malloc.h>

#include "orrery/api/memory.h"
#include "orrery/api/session.h"
#include "orrery/base/concurrency/progress.h"
#include "orrery/base/error.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/request_options.h"
#include "orrery/cli/verb.h"

namespace orrery::cli {
namespace {

struct MemoryArguments {
  api::MemoryRequest request;
  OutputOptions output;
};

// Pieces of a recording are alike, so the next one allocates what one has freed. The allocator
// would hand it to the system in between, page by page: more than a quarter of the time.
void KeepFreedMemory() {
  constexpr int kKeptBytes = 1 << 30;
  mallopt(M_TRIM_THRESHOLD, kKeptBytes);
  mallopt(M_MMAP_THRESHOLD, kKeptBytes);
}

Result<int> RunMemory(const api::Session& session, const MemoryArguments& arguments) {
  KeepFreedMemory();
  api::MemoryRequest request = arguments.request;
  ProgressLine line(TerminalProgress(), "reading");
  request.call.progress = ReportTo(line);
  ORRERY_TRY(const api::MemoryResult result, api::Memory(session, request));
  line.Clear();
  return Deliver(api::MakeDocument(result), arguments.output, result.is_partial);
}

std::string Footer() {
  std::string text = "Tools:\n";
  for (const api::MemoryToolInfo& tool : api::MemoryToolList()) {
    text += fmt::format("  {:<18} {}\n", tool.name, tool.line);
  }
  return text +
         "\nWithout --tool: what was recorded, and which tools can run on it. Each result says how "
         "completely\nlaunches were observed; accesses known only from arguments are never "
         "counted.\n\nExamples:\n  orrery memory run.orrs\n  orrery memory run.orrs --tool "
         "kernel-frequency --top 10\n  orrery memory run.orrs --tool working-set --html "
         "page.html\n  orrery memory accesses.orrs --times coarse.orrs --tool kernel-frequency";
}

void AddToolOptions(Verb& verb, api::MemoryRequest& request) {
  for (const api::MemoryToolInfo& tool : api::MemoryToolList()) {
    verb.AddGroup(fmt::format("--tool {}", tool.name), [&](Verb& group) {
      if (!tool.first_field.empty()) {
        AddFieldOptions(group, request, tool.first_field, tool.last_field);
      }
      if (tool.name == "uvm") {
        group.FindOption("--oversubscription").Excludes(group.FindOption("--capacity"));
      }
    });
  }
}

}  // namespace

void AddMemoryCommand(Verb& app) {
  auto arguments = std::make_shared<MemoryArguments>();
  api::MemoryRequest& request = arguments->request;
  Verb verb = app.AddVerb("memory", "Memory tools on a recording: --tool NAME");
  verb.Footer(Footer());
  AddFieldOption(verb, request, "paths", "PATH");
  AddFieldOptions(verb, request, "paper", "top");
  AddOutputOptions(verb, arguments->output);
  AddCsvOptions(verb, arguments->output);
  verb.AddOption("--svg", arguments->output.svg_file, "write the pictures to this file");
  AddFieldOptions(verb, request, "whole", "piece");
  verb.FindOption("--piece").Excludes("--whole");
  verb.FindOption("--piece").Excludes("--times");
  AddFieldOptions(verb, request, "threads", "step_marker");
  AddToolOptions(verb, request);
  verb.OnRun([arguments](const api::Session& session) { return RunMemory(session, *arguments); });
}

}  // namespace orrery::cli
