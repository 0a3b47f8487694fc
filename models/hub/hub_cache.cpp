#include "models/hub/hub_cache.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <vector>

#include "runtime/check.h"
#include "runtime/files/mapped_file.h"

namespace vkformer {

namespace {

/// As the hub allows them.
bool is_name(std::string_view text) {
  const auto fits = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
  };
  return !text.empty() && text.size() <= 96 && std::ranges::all_of(text, fits) && text.front() != '.' &&
         text.front() != '-' && text.find("--") == text.npos && text.find("..") == text.npos;
}

/// The first of these variables that says something, and what lies below it.
std::filesystem::path first_of(std::initializer_list<std::pair<const char*, const char*>> places) {
  for (const auto& [variable, below] : places)
    if (const char* value = std::getenv(variable); value != nullptr && *value != 0)
      return (std::filesystem::path(value) / below).lexically_normal();
  return {};
}

/// Of a model that was downloaded by another name than its main branch's.
std::optional<std::filesystem::path> only_snapshot(const std::filesystem::path& folder) {
  std::error_code none;
  std::vector<std::filesystem::path> snapshots;
  for (std::filesystem::directory_iterator entry(folder, none), end; entry != end; entry.increment(none))
    if (entry->is_directory(none)) snapshots.push_back(entry->path());
  return snapshots.size() == 1 ? std::optional(snapshots.front()) : std::nullopt;
}

}  // namespace

std::optional<HubName> parse_hub_name(std::string_view text) {
  const size_t slash = text.find('/'), colon = text.find(':');
  if (slash == text.npos || colon < slash) return std::nullopt;
  const std::string_view owner = text.substr(0, slash), name = text.substr(slash + 1, colon - slash - 1),
                         quant = colon == text.npos ? "" : text.substr(colon + 1);
  if (!is_name(owner) || !is_name(name) || (colon != text.npos && !is_name(quant))) return std::nullopt;
  return HubName{std::string(owner), std::string(name), std::string(quant)};
}

std::filesystem::path hub_home() {
  return first_of({{"HF_HOME", ""},
                   {"XDG_CACHE_HOME", "huggingface"},
                   {"USERPROFILE", ".cache/huggingface"},  // Windows', where shells may have a HOME of their own
                   {"HOME", ".cache/huggingface"}});
}

std::filesystem::path hub_cache() {
  const std::filesystem::path cache = first_of({{"HF_HUB_CACHE", ""}}), home = hub_home();
  return !cache.empty() || home.empty() ? cache : home / "hub";
}

std::filesystem::path hub_folder(const HubName& name) {
  const std::filesystem::path cache = hub_cache();
  return cache.empty() ? cache : cache / ("models--" + name.owner + "--" + name.name);
}

std::optional<std::filesystem::path> hub_snapshot(const std::filesystem::path& folder) {
  const auto branch = folder / "refs" / "main";
  if (folder.empty()) return std::nullopt;
  if (!std::filesystem::is_regular_file(branch)) return only_snapshot(folder / "snapshots");
  std::string commit(MappedFile(branch).text());
  while (!commit.empty() && std::isspace(static_cast<unsigned char>(commit.back()))) commit.pop_back();
  const auto snapshot = folder / "snapshots" / commit;
  check(!commit.empty() && commit.find('/') == commit.npos && commit.front() != '.' &&
            std::filesystem::is_directory(snapshot),
        "'{}' names a snapshot that is not there; download the model again", branch.generic_string());
  return snapshot;
}

}  // namespace vkformer
