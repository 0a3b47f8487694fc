// vkformer download: a model from Hugging Face's hub, into the cache where its name is then known.

#include <cstdlib>
#include <fstream>

#include "runtime/check.h"
#include "tools/cli/commands.h"
#include "tools/cli/end_signals.h"
#include "tools/cli/hub/repository.h"
#include "tools/cli/output.h"
#include "tools/cli/progress.h"

namespace vkformer {

namespace {

std::string variable_or(const char* variable, const char* otherwise) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != 0 ? value : otherwise;
}

/// HF_TOKEN, or what `hf auth login` left in a file.
std::string own_token() {
  std::string token = variable_or("HF_TOKEN", "");
  if (token.empty())
    std::ifstream(variable_or("HF_TOKEN_PATH", (hub_home() / "token").generic_string().c_str())) >> token;
  return token;
}

bool is_offline() {
  const std::string offline = variable_or("HF_HUB_OFFLINE", "0");
  return offline != "0" && offline != "false" && offline != "FALSE";
}

int64_t bytes_of(const std::vector<HubFile>& files) {
  uint64_t bytes = 0;
  for (const HubFile& file : files) bytes += file.size;
  return static_cast<int64_t>(bytes);
}

}  // namespace

void download(const DownloadFlags& flags) {
  const auto name = parse_hub_name(flags.model);
  if (!name) throw UsageError(fmt::format("'{}' is no OWNER/NAME of a model, nor OWNER/NAME:QUANT", flags.model));
  check(!is_offline(), "HF_HUB_OFFLINE is set: nothing is downloaded");
  std::string endpoint = variable_or("HF_ENDPOINT", "https://huggingface.co");
  while (endpoint.ends_with('/')) endpoint.pop_back();
  Transfer transfer(own_token());
  HubRepository repository(transfer, endpoint, *name, flags.revision);
  std::vector<HubFile> files;
  try {
    files = flags.all ? repository.listing().files : wanted_files(repository.listing(), name->quant);
  } catch (const Error& error) {
    fail("{}: {}", name->model(), error.what());
  }
  const int64_t total = bytes_of(files), there = static_cast<int64_t>(repository.there(files));
  if (flags.dry_run) {
    for (const HubFile& file : files) print("{:>10}  {}\n", size_text(static_cast<int64_t>(file.size)), file.path);
    return;
  }
  if (!flags.quiet)
    say("{}: {}, {}{}", name->model(), counted(std::ssize(files), "file"), size_text(total),
        there == 0 ? "" : fmt::format(", {} of that here already", size_text(there)));
  catch_end_signals();
  constexpr int64_t mebibyte = int64_t{1} << 20;
  Progress bar(total / mebibyte, flags.quiet);
  const bool done = repository.download(files, [&](uint64_t bytes, const std::string& file) {
    bar.show(static_cast<int64_t>(bytes) / mebibyte, "MiB, " + file);
    return !end_was_asked();
  });
  bar.clear();
  if (!done) check_no_end_asked("what has come stays; give the same command again to go on");
  print("{}\n", repository.snapshot().generic_string());
  if (!flags.quiet && flags.revision == "main") say("use it by its name: vkformer info {}", flags.model);
}

}  // namespace vkformer
