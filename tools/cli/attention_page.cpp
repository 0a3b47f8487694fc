#include "tools/cli/attention_page.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace vkformer {

namespace {

/// Printable ASCII without what JSON or HTML would escape.
constexpr std::string_view code_alphabet =
    "!#$%'()*+,-./0123456789:;=?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`abcdefghijklmnopqrstuvwxyz{|}~";
constexpr size_t code_base = 89, one_digit = 77, fewest_zeros = 3;
static_assert(code_alphabet.size() == code_base);

std::string_view title_of(AttentionMap::Kind kind, bool has_source) {
  switch (kind) {
    case AttentionMap::Kind::encoder: return has_source ? "source → source" : "text → text";
    case AttentionMap::Kind::decoder: return has_source ? "target → target" : "text → text";
    default: return "target → source";
  }
}

}  // namespace

std::string coded_thousandths(std::span<const float> weights, std::string_view alphabet) {
  std::string code;
  const auto value = [&](size_t i) {
    return static_cast<size_t>(std::lround(1000 * std::clamp(static_cast<double>(weights[i]), 0.0, 1.0)));
  };
  for (size_t i = 0; i < weights.size();) {
    size_t zeros = 0;
    while (i + zeros < weights.size() && zeros + 1 < code_base && value(i + zeros) == 0) ++zeros;
    if (zeros >= fewest_zeros) {
      code += {alphabet[code_base - 1], alphabet[zeros]};
      i += zeros;
      continue;
    }
    const size_t number = value(i++);
    if (number < one_digit) {
      code += alphabet[number];
    } else {
      code += {alphabet[one_digit + (number - one_digit) / code_base], alphabet[(number - one_digit) % code_base]};
    }
  }
  return code;
}

nlohmann::json attention_page_data(const std::vector<AttentionMap>& maps, const AttentionTokens& tokens) {
  using Kind = AttentionMap::Kind;
  const bool has_source = !tokens.source.empty();
  auto kinds = nlohmann::json::array();
  for (const Kind kind : {Kind::encoder, Kind::decoder, Kind::cross}) {
    const auto first = std::ranges::find(maps, kind, &AttentionMap::kind);
    if (first == maps.end()) continue;
    const bool of_source = has_source && kind == Kind::encoder;
    nlohmann::json entry = {{"name", name_of(kind)},
                            {"title", title_of(kind, has_source)},
                            {"heads", first->heads},
                            {"rows", of_source ? tokens.source : tokens.read},
                            {"columns", of_source || kind == Kind::cross ? tokens.source : tokens.read},
                            {"numbers", nlohmann::json::array()},
                            {"layers", nlohmann::json::array()}};
    if (!of_source && !tokens.written.empty()) entry["written"] = tokens.written;
    for (const AttentionMap& map : maps) {
      if (map.kind != kind) continue;
      auto heads = nlohmann::json::array();
      const auto size = static_cast<size_t>(map.queries * map.keys);
      for (size_t head = 0; head < static_cast<size_t>(map.heads); ++head)
        heads.push_back(coded_thousandths(std::span(map.weights).subspan(head * size, size), code_alphabet));
      entry["numbers"].push_back(map.layer);
      entry["layers"].push_back(std::move(heads));
    }
    kinds.push_back(std::move(entry));
  }
  return {{"alphabet", code_alphabet}, {"kinds", std::move(kinds)}};
}

}  // namespace vkformer
