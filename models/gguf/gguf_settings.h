#pragma once
// The metadata of a GGUF file under the name of its architecture; internal to this folder.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "models/gguf/architectures.h"
#include "models/gguf/gguf_weights.h"
#include "runtime/text_number.h"

namespace vkformer {

/// Files have floats; as few digits as tell one from its neighbours are what people wrote.
inline double shortest_number(double value) {
  return number_in<double>(fmt::format("{}", static_cast<float>(value))).value_or(0);
}

/// expert_gating_func: what the weights of a mixture are made by.
inline constexpr int64_t gguf_softmax = 1, gguf_sigmoid = 2;

/// A file's metadata, under the name of its architecture.
class GgufSettings {
 public:
  GgufSettings(const GgufShards& shards, const GgufArchitecture& architecture)
      : shards_(shards), all_(shards.metadata()), prefix_(std::string(architecture.name) + '.') {}

  const GgufShards& shards() const { return shards_; }
  const GgufMetadata& all() const { return all_; }
  bool has(std::string_view key) const { return all_.has(name(key)); }
  bool has_tensor(std::string_view tensor) const { return shards_.find(tensor) != nullptr; }
  std::string name(std::string_view key) const { return prefix_ + std::string(key); }
  int64_t integer(std::string_view key) const { return all_.integer(name(key), 0, int64_t{1} << 40); }
  double number(std::string_view key) const { return shortest_number(all_.number(name(key), -1e30, 1e30)); }
  nlohmann::json value(const KeyRow& row) const {
    if (row.kind == KeyRow::Kind::boolean) return all_.boolean(name(row.gguf));
    if (row.kind == KeyRow::Kind::number) return number(row.gguf);
    return integer(row.gguf);
  }

 private:
  const GgufShards& shards_;
  const GgufMetadata& all_;
  std::string prefix_;
};

}  // namespace vkformer
