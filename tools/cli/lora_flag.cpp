#include "tools/cli/lora_flag.h"

#include <set>

#include "runtime/check.h"
#include "runtime/text_number.h"

namespace vkformer {

namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

template <class T>
T number(const std::string& text, const std::string& key, T least, T most) {
  const std::optional<T> value = number_in<T>(text);
  if (!value || !(*value >= least && *value <= most))
    throw UsageError(fmt::format("--lora: {} '{}' is not a number from {} to {}", key, text, least, most));
  return *value;
}

}  // namespace

LoraFlag lora_flag(const std::string& text) {
  LoraFlag flag;
  std::set<std::string> given;
  for (const std::string& setting : split(text, ',')) {
    const size_t equals = setting.find('=');
    const std::string key = setting.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : setting.substr(equals + 1);
    if (!given.insert(key).second) throw UsageError(fmt::format("--lora: {} is there more than once", key));
    if (key == "r")
      flag.config.rank = number<int64_t>(value, key, 1, 65536);
    else if (key == "alpha")
      flag.config.alpha = number<double>(value, key, 1e-6, 1e6);
    else if (key == "dropout")
      flag.config.dropout = number<double>(value, key, 0, 0.99);
    else if (key == "targets")
      flag.targets = split(value, '+');
    else if (key == "rslora" && equals == std::string::npos)
      flag.config.rslora = true;
    else
      throw UsageError(fmt::format(
          "--lora: '{}' is not a setting; write r=8,alpha=16,dropout=0.05,targets=q_proj+v_proj,rslora", setting));
  }
  return flag;
}

}  // namespace vkformer
