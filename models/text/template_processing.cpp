#include "models/text/template_processing.h"

#include <nlohmann/json.hpp>
#include <sstream>

namespace vkformer {

nlohmann::json template_processing(const std::string& single, const std::string& pair,
                                   const std::function<TemplateToken(const std::string& part)>& token) {
  nlohmann::json used = nlohmann::json::object();
  const auto parts_of = [&](const std::string& parts) {
    nlohmann::json sequence = nlohmann::json::array();
    std::istringstream stream(parts);
    for (std::string part; stream >> part;) {
      const size_t colon = part.rfind(':');
      const int type = colon == part.npos ? 0 : std::stoi(part.substr(colon + 1));
      part.resize(std::min(part.size(), colon));
      if (part == "A" || part == "B") {
        sequence.push_back({{"Sequence", {{"id", part}, {"type_id", type}}}});
        continue;
      }
      const auto [text, id] = token(part);
      sequence.push_back({{"SpecialToken", {{"id", text}, {"type_id", type}}}});
      used[text] = {{"id", text}, {"ids", nlohmann::json::array({id})}, {"tokens", nlohmann::json::array({text})}};
    }
    return sequence;
  };
  nlohmann::json processor = {{"type", "TemplateProcessing"}, {"single", parts_of(single)}, {"pair", parts_of(pair)}};
  processor["special_tokens"] = used;
  return processor;
}

}  // namespace vkformer
