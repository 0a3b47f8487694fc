#pragma once
// tokenizer.json's TemplateProcessing: the special tokens around a text or a pair of texts.

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace vkformer {

struct TemplateToken {
  std::string text;
  uint64_t id = 0;
};

/// `single` and `pair` are like "[CLS] A [SEP] B:1 [SEP]:1": parts apart by blanks, each with its token type behind a
/// colon (0 where there is none). `token` knows those that are neither A nor B.
nlohmann::json template_processing(const std::string& single, const std::string& pair,
                                   const std::function<TemplateToken(const std::string& part)>& token);

}  // namespace vkformer
