#include "models/hub/gguf_names.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "runtime/check.h"

namespace vkformer {

namespace {

constexpr std::string_view ending = ".gguf";
constexpr size_t shard_length = std::string_view("-00001-of-00003").size();

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

/// "-00001-of-00003" at its end, or nothing.
std::string_view shard_of(std::string_view name) {
  if (name.ends_with(ending)) name.remove_suffix(ending.size());
  if (name.size() < shard_length) return {};
  const std::string_view shard = name.substr(name.size() - shard_length);
  for (size_t i = 0; i < shard_length; ++i)
    if (const char form = "-00000-of-00000"[i];
        form == '0' ? std::isdigit(static_cast<unsigned char>(shard[i])) == 0 : shard[i] != form)
      return {};
  return shard;
}

}  // namespace

bool is_mmproj_name(std::string_view name) { return lower(name).find("mmproj") != std::string::npos; }

bool has_quant(std::string_view name, std::string_view quant) {
  const std::string there = lower(name), wanted = lower(quant);
  for (size_t at = there.find(wanted); at != there.npos; at = there.find(wanted, at + 1)) {
    const size_t end = at + wanted.size();
    const auto divides = [&](size_t place) {
      return std::string_view("-./").find(there[place]) != std::string_view::npos;
    };
    if ((at == 0 || divides(at - 1)) && end < there.size() && divides(end)) return true;
  }
  return false;
}

std::string_view without_shard(std::string_view name) {
  if (name.ends_with(ending)) name.remove_suffix(ending.size());
  return name.substr(0, name.size() - shard_of(name).size());
}

bool is_later_shard(std::string_view name) {
  const std::string_view shard = shard_of(name);
  return !shard.empty() && shard.substr(1, 5) != "00001";
}

std::vector<std::string> meant_gguf(std::span<const std::string> names, std::string_view quant) {
  std::map<std::string_view, std::vector<std::string>> models;
  for (const std::string& name : names)
    if (!is_mmproj_name(name)) models[without_shard(name)].push_back(name);
  const std::vector<std::string>* meant = nullptr;
  for (const auto& [model, files] : models)
    if (has_quant(files.front(), quant.empty() ? "Q4_K_M" : quant) &&
        (meant == nullptr || files.front().size() < meant->front().size()))
      meant = &files;
  if (meant == nullptr && quant.empty() && models.size() == 1) meant = &models.begin()->second;
  if (meant == nullptr) {
    std::vector<std::string> first;
    for (const auto& [model, files] : models) first.push_back(files.front());
    check(!quant.empty(), "there are {} GGUF files, none of them Q4_K_M; name a type behind a colon, as :Q8_0, of {}",
          first.size(), fmt::join(first, ", "));
    fail("no GGUF file is {}; there are {}", quant, fmt::join(first, ", "));
  }
  std::vector<std::string> files = *meant;
  std::ranges::sort(files);
  return files;
}

}  // namespace vkformer
