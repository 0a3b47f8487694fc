#pragma once
// The graph of one recorded operator case; internal to models/verify*.cpp.

#include <map>
#include <variant>

#include "runtime/backend.h"
#include "runtime/files/json_file.h"
#include "runtime/files/safetensors.h"

namespace vkformer {

/// A case of ops.json: an operator, its attributes and the tensors "name/..." of the file.
struct OpCase {
  std::string name;
  std::string op;
  JsonObject attributes;
  std::vector<std::string> inputs, outputs;  ///< names of tensors
  double relative = 0, absolute = 0;         ///< |error| <= relative * max|expected| + absolute
};

/// A graph whose inputs come with their values.
class OpGraph {
 public:
  OpGraph(const OpCase& recorded, const SafetensorsFile& file) : recorded_(recorded), file_(file) {}

  Graph graph;

  const OpCase& recorded() const { return recorded_; }
  const JsonObject& attributes() const { return recorded_.attributes; }
  /// The recorded tensor, f32 or i32; asking twice gives the same Value. Throws Error when there is none.
  Value input(const std::string& tensor);
  /// An input that the file does not hold.
  Value input(const std::string& name, const Shape& shape, std::vector<float> values);
  Value input(const std::string& name, const Shape& shape, std::vector<int32_t> values);
  /// The recorded values themselves.
  std::vector<float> floats(const std::string& tensor) const;
  std::vector<int32_t> ints(const std::string& tensor) const;
  /// Writes every input.
  void feed(Program& program) const;

 private:
  const OpCase& recorded_;
  const SafetensorsFile& file_;
  std::map<std::string, std::variant<std::vector<float>, std::vector<int32_t>>> values_;
};

/// Appends the operator of the case to its graph and gives the result. Throws Error when there is no such operator or
/// its attributes make no sense.
Value build_op(OpGraph& op);

}  // namespace vkformer
