// `vkformer logits`: what a model computes for given ids, in a file that other programs read.

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/adapters/lora.h"
#include "models/model.h"
#include "models/stored_weights.h"
#include "runtime/check.h"
#include "runtime/files/safetensors.h"
#include "runtime/files/utf8.h"
#include "tools/cli/commands.h"
#include "tools/cli/model_folder.h"
#include "tools/cli/output.h"
#include "tools/cli/prompt_text.h"
#include "tools/cli/text_argument.h"
#include "tools/cli/token_ids.h"

namespace vkformer {

namespace {

/// A batch of ids: one text, or what is in a file under Hugging Face's names for the model's inputs.
struct IdBatch {
  BatchShape shape;
  std::map<std::string, std::vector<int32_t>> inputs;  ///< by our names
  std::vector<TensorSource> copies;                    ///< of what was read

  /// One row.
  IdBatch(const Model& model, std::vector<int32_t> row) {
    check(!model.has_encoder(), "this {} model wants the ids of its decoder, too; give --ids FILE with both",
          model.family);
    const std::vector<int32_t>& ids = inputs["ids"] = std::move(row);
    shape.rows = 1;
    shape.positions = std::ssize(ids);
    copies.push_back(TensorSource::of("input_ids", {1, shape.positions}, std::span<const int32_t>(ids)));
    check_feed(model, shape, {inputs.begin(), inputs.end()});
  }

  IdBatch(const Model& model, const std::filesystem::path& path) {
    const SafetensorsFile file(path);
    const std::pair<const char*, const char*> names[] = {
        {"input_ids", model.has_encoder() ? "source" : "ids"},
        {"attention_mask", model.has_encoder() ? "source_mask" : "mask"},
        {"token_type_ids", "segments"},
        {"position_ids", "positions"},
        {"decoder_input_ids", "ids"},
    };
    for (const auto& [theirs, ours] : names) {
      const TensorEntry* entry = file.find(theirs);
      if (!entry) continue;
      check(entry->shape.size() == 2 && entry->elements() > 0, "{}: {} must be [batch, positions]", path.string(),
            theirs);
      std::vector<int32_t>& values = inputs[ours];
      values.resize(static_cast<size_t>(entry->elements()));
      file.read_ints(*entry, values);
      check(std::string_view(theirs) != "attention_mask" ||
                std::ranges::all_of(values, [](int32_t value) { return value == 0 || value == 1; }),
            "{}: attention_mask holds other numbers than 0 and 1", path.string());
      copies.push_back(TensorSource::of(theirs, entry->shape, std::span<const int32_t>(values)));
      if (std::string_view(ours) == "ids") shape.positions = entry->shape[1];
      if (std::string_view(ours) == "source") shape.source_positions = entry->shape[1];
      shape.rows = entry->shape[0];
    }
    for (const auto& entry : file.tensors())
      check(
          entry.name == "logits" ||  // of what this command wrote
              std::ranges::any_of(names, [&](const auto& known) { return entry.name == known.first; }),
          "{}: tensor {} is no input of a model; there are input_ids, attention_mask, token_type_ids, position_ids and "
          "decoder_input_ids",
          path.string(), in_quotes(entry.name));
    check(model.has_encoder() || !file.find("decoder_input_ids"),
          "{} has decoder_input_ids, which this {} model has no decoder for; its ids are input_ids", path.string(),
          model.family);
    check(inputs.contains("ids"), "{} has no {}", path.string(),
          model.has_encoder() ? "decoder_input_ids" : "input_ids");
    check(!model.has_encoder() || inputs.contains("source"), "{} has no input_ids", path.string());
    shape.mask = inputs.contains("mask") || inputs.contains("source_mask");
    shape.segments = inputs.contains("segments");
    shape.numbered = inputs.contains("positions");
    for (const auto& [name, values] : inputs) {
      const bool of_source = name.starts_with("source");
      check(static_cast<int64_t>(values.size()) == shape.rows * (of_source ? shape.source_positions : shape.positions),
            "{}: its tensors have unlike shapes", path.string());
    }
    try {
      check_feed(model, shape, {inputs.begin(), inputs.end()});
    } catch (const Error& error) {
      fail("{}: {}", path.string(), error.what());
    }
  }
};

/// Of a text with the special tokens that belong around it, of a file, or of ids that look like 5,17,3.
IdBatch batch_of(const LogitsFlags& flags, const std::filesystem::path& folder, const Model& model) {
  if (flags.text) return {model, PromptText(folder).encode(text_argument(*flags.text, ""))};
  const bool list = flags.ids.find_first_not_of("0123456789, ") == std::string::npos;
  std::error_code too_long_for_a_name;
  if (list && !std::filesystem::exists(flags.ids, too_long_for_a_name)) return {model, parse_ids(flags.ids, "--ids")};
  return {model, std::filesystem::path(flags.ids)};
}

}  // namespace

void logits(const LogitsFlags& flags) {
  const auto folder = resolve_model_folder(flags.model);
  const auto adapter = open_adapter(flags.adapter, folder);
  const Model model = model_to_generate(folder, flags.dtype, adapter.get());
  IdBatch batch = batch_of(flags, folder, model);
  const Weights weights(model.parameters, folder);
  Graph graph;
  const Value result = add_logits(graph, model, add_inputs(graph, model, batch.shape));
  graph.mark_output(result, "logits");
  const auto dimensions = graph.shape(result).dimensions();
  const std::vector<int64_t> shape(dimensions.begin(), dimensions.end());
  graph = with_stored_types(adapted(std::move(graph), model), model);

  auto backend = open_backend(flags.common);
  auto program =
      backend->compile(std::move(graph), load_store(*backend, model, weights, flags.common.quiet, adapter.get()));
  for (const auto& [name, values] : batch.inputs) program->write(name, values);
  program->run();
  const std::vector<float> values = program->read("logits");
  check_results(values, static_cast<size_t>(shape.back()));
  batch.copies.push_back(TensorSource::of("logits", shape, std::span<const float>(values)));
  write_safetensors(flags.out, std::move(batch.copies));
  if (!flags.common.quiet) vkformer::print("{}: logits [{}]\n", flags.out, fmt::join(shape, ", "));
}

}  // namespace vkformer
