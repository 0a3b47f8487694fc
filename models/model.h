#pragma once
// What tools know of a model family: its parameters as data and one build function. Adding a family is one file with a
// config struct and that function, and a line in models/model.cpp.

#include <functional>
#include <nlohmann/json_fwd.hpp>

#include "runtime/backend.h"
#include "runtime/files/json_file.h"

namespace vkformer {

/// One trained tensor, under its Hugging Face name.
struct ParameterSpec {
  enum class Start : uint8_t { normal, zeros, ones };
  std::string name;
  Shape shape;
  Start start = Start::normal;
  double deviation = 0.02;  ///< of a normal start
  /// Other names under which files may store it: a tied tensor has one for each of its uses.
  std::vector<std::string> other_names = {};
  /// Weight decay applies to parameters with two or more dimensions, embeddings included.
  bool decayed() const { return shape.rank() >= 2; }
};

/// A tensor that is computed once and never trained or saved (rotary angles).
struct ConstantSpec {
  std::string name;
  Shape shape;
  std::function<std::vector<float>()> values;
};

/// A part of the key-value cache: a persistent tensor [B, capacity, columns].
struct CacheSpec {
  std::string name;
  int64_t columns = 0;
};

/// How one pass through a model runs.
struct Pass {
  Value ids;             ///< i32 [B, T]
  Value seed;            ///< i32 [2] {seed, step}: dropout is on; absent: off
  Value position;        ///< i32 [1]: index of the first of the T positions; absent: 0, and no cache
  int64_t capacity = 0;  ///< positions the key-value cache holds (with `position`)
};

/// A decoder-only language model.
struct Model {
  std::string family;  ///< Hugging Face model_type
  std::vector<ParameterSpec> parameters;
  int64_t vocabulary = 0;
  int64_t context = 0;  ///< most positions
  int64_t layers = 0;
  std::vector<ConstantSpec> constants;
  std::vector<CacheSpec> caches;  ///< used by passes with a position
  /// Hidden states [B, T, C] after the last norm.
  std::function<Value(Graph&, const Pass&)> hidden;
  /// Hidden states [.., C] -> logits [.., V].
  std::function<Value(Graph&, Value)> head;
  std::shared_ptr<const nlohmann::json> config;  ///< as written to config.json

  int64_t parameter_count() const;
};

/// The model that a config.json describes. Throws Error for an unknown model_type or values that can't be, before any
/// allocation.
Model make_model(const JsonObject& config);

// Stores ------------------------------------------------------------------------------------------------------------

/// A block of parameters: decayed ones first, so that AdamW updates it in one launch.
struct ParameterBlock {
  std::vector<const ParameterSpec*> parameters;
  int64_t decayed_elements = 0;
};

/// The model's parameters in as few blocks as the device's largest allocation permits. Names of block i: see
/// block_name(). Pointers into `parameters`, which must outlive the result.
std::vector<ParameterBlock> parameter_blocks(const std::vector<ParameterSpec>& parameters, uint64_t max_allocation);
std::string block_name(std::string_view what, size_t i);  ///< "parameters.0"

/// Adds block i of `what` ("parameters" under the tensors' own names; otherwise "what/name") for every block.
void add_parameter_blocks(StoreLayout& layout, std::string_view what, const std::vector<ParameterBlock>& blocks);

/// Adds the blocks of the parameters, and the model's constants.
void add_model(StoreLayout& layout, const Model& model, const std::vector<ParameterBlock>& blocks);
void write_constants(Store& store, const Model& model);

/// Fills the parameters with their start values; they depend only on the seed and each tensor's name.
void initialize(Store& store, const std::vector<ParameterSpec>& parameters, uint32_t seed);

}  // namespace vkformer
