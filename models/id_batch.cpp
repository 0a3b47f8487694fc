#include "models/id_batch.h"

#include <algorithm>

#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

IdBatch::IdBatch(const Model& model, const std::map<std::string, IdMatrix>& tensors) {
  const bool encoder = model.has_encoder();
  check(model.frame_columns == 0, "this {} model reads frames of sound, not ids", model.family);
  check(!model.sees(), "this {} model sees pictures; classify and embed show them to it", model.family);
  const std::map<std::string_view, const char*> names = {
      {"input_ids", encoder ? "source" : "ids"},
      {"attention_mask", encoder ? "source_mask" : "mask"},
      {"token_type_ids", "segments"},
      {"position_ids", "positions"},
      {"decoder_input_ids", "ids"},
  };
  for (const auto& [name, tensor] : tensors) {
    check(names.contains(name),
          "{} is no input of a model; there are input_ids, attention_mask, token_type_ids, position_ids and "
          "decoder_input_ids",
          in_quotes(name));
    check(encoder || name != "decoder_input_ids",
          "there are decoder_input_ids, which this {} model has no decoder for; its ids are input_ids", model.family);
    check(name != "attention_mask" ||
              std::ranges::all_of(tensor.values, [](int32_t value) { return value == 0 || value == 1; }),
          "attention_mask holds other numbers than 0 and 1");
    inputs[names.at(name)] = tensor.values;
  }
  check(tensors.contains("input_ids"), "there are no input_ids");
  check(!encoder || tensors.contains("decoder_input_ids"), "there are no decoder_input_ids");
  const IdMatrix& sources = tensors.at("input_ids");
  const IdMatrix& ids = encoder ? tensors.at("decoder_input_ids") : sources;
  shape = {.rows = ids.rows,
           .positions = ids.columns,
           .source_positions = encoder ? sources.columns : 0,
           .mask = tensors.contains("attention_mask"),
           .segments = inputs.contains("segments"),
           .numbered = inputs.contains("positions")};
  for (const auto& [name, tensor] : tensors) {
    const IdMatrix& like = std::string_view(names.at(name)).starts_with("source") ? sources : ids;
    check(tensor.rows == ids.rows && tensor.columns == like.columns, "{} is [{}, {}], but {} [{}, {}]", name,
          tensor.rows, tensor.columns, &like == &ids && encoder ? "decoder_input_ids" : "input_ids", ids.rows,
          like.columns);
  }
  check_feed(model, shape, feed());
}

}  // namespace vkformer
