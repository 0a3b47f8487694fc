#include <algorithm>
#include <cmath>

#include "models/verify/verify_parts.h"
#include "runtime/check.h"
#include "shaders/cross_entropy/cross_entropy.h"

namespace vkformer {

namespace {

/// Index b * T + t of each prediction, from rows of zeros with a one at t.
std::vector<int32_t> predicted_positions(const std::vector<float>& one_hot, size_t predictions, size_t positions) {
  std::vector<int32_t> predicted;
  for (size_t row = 0; row < one_hot.size() / positions; ++row) {
    const auto begin = one_hot.begin() + static_cast<std::ptrdiff_t>(row * positions);
    const auto end = begin + static_cast<std::ptrdiff_t>(positions);
    const auto one = std::find(begin, end, 1.0f);
    check(one != end && std::count(begin, end, 0.0f) == static_cast<std::ptrdiff_t>(positions) - 1,
          "two_stream.target_mapping: row {} is not one position; mixtures of positions are not supported", row);
    predicted.push_back(static_cast<int32_t>(row / predictions * positions + static_cast<size_t>(one - begin)));
  }
  return predicted;
}

/// Which keys queries may see: those that are neither padding nor hidden by the permutation and, with `self`, the
/// query's own.
std::vector<int32_t> visible(const std::vector<float>& hidden, const std::vector<int32_t>& mask, size_t positions,
                             bool self) {
  std::vector<int32_t> result(hidden.size());
  for (size_t i = 0; i < hidden.size(); ++i) {
    const size_t s = i % positions, t = i / positions % positions, b = i / positions / positions;
    result[i] = (hidden[i] == 0 && mask[b * positions + s] != 0) || (self && s == t);
  }
  return result;
}

}  // namespace

void verify_two_stream(Backend& backend, const Model& model, const std::shared_ptr<Store>& store,
                       const JsonObject& recorded, const SafetensorsFile& expected,
                       const std::function<void(const VerifyRow&)>& report) {
  if (!expected.find("two_stream.logits")) return;
  const auto shape = expected.require("two_stream.target_mapping").shape;
  check(shape.size() == 3, "two_stream.target_mapping has {} dimensions, 3 are needed", shape.size());
  const int64_t B = shape[0], P = shape[1], T = shape[2];
  const auto require_shape = [&](const char* name, const std::vector<int64_t>& wanted) {
    check(expected.require(name).shape == wanted, "{} does not fit two_stream.target_mapping", name);
  };
  require_shape("input_ids", {B, T});
  require_shape("attention_mask", {B, T});
  require_shape("two_stream.perm_mask", {B, T, T});
  require_shape("two_stream.labels", {B, P});
  require_shape("two_stream.logits", {B, P, model.vocabulary});
  const auto positions = static_cast<size_t>(T);

  Graph graph;
  const BatchShape batch{
      .rows = B, .positions = T, .segments = expected.find("token_type_ids") != nullptr, .predictions = P};
  const Value logits = add_logits(graph, model, add_inputs(graph, model, batch));
  graph.mark_output(logits, "logits");
  graph.mark_output(cross_entropy(graph, logits, graph.input("targets", {B, P}, DType::i32)), "loss");
  auto program = backend.compile(std::move(graph), store);
  const std::vector<float> hidden = read_floats(expected, "two_stream.perm_mask");
  const std::vector<int32_t> mask = read_ints(expected, "attention_mask");
  program->write("ids", read_ints(expected, "input_ids"));
  if (batch.segments) program->write("segments", read_ints(expected, "token_type_ids"));
  program->write("mask", visible(hidden, mask, positions, true));
  program->write("query_mask", visible(hidden, mask, positions, false));
  program->write("predicted", predicted_positions(read_floats(expected, "two_stream.target_mapping"),
                                                  static_cast<size_t>(P), positions));
  program->write("targets", read_ints(expected, "two_stream.labels"));
  program->run();

  const JsonObject tolerance = require_object(recorded, "tolerance");
  const auto compare = [&](const std::string& name, const char* limit, const char* how) {
    const std::vector<float> want = read_floats(expected, "two_stream." + name), got = program->read(name);
    LargestError error;
    for (size_t i = 0; i < want.size(); ++i) error.add(static_cast<double>(got[i]), static_cast<double>(want[i]));
    const double most = require_number(tolerance, limit, 0, 1);
    report({.tensor = "two_stream." + name,
            .error = error.relative(),
            .tolerance = most,
            .how = how,
            .verdict = verdict(error.relative() <= most),
            .note = {}});
  };
  compare("logits", "logits_relative_to_max", "of the largest");
  compare("loss", "loss_relative", "relative");
}

}  // namespace vkformer
