// `vkformer logits`: what a model computes for given ids, in a file that other programs read.

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/adapters/lora.h"
#include "models/id_batch.h"
#include "models/parameters.h"
#include "models/stored_weights.h"
#include "models/text/prompt_text.h"
#include "runtime/check.h"
#include "runtime/files/safetensors.h"
#include "runtime/files/utf8.h"
#include "tools/cli/commands.h"
#include "tools/cli/host_weights.h"
#include "tools/cli/model_folder.h"
#include "tools/cli/output.h"
#include "tools/cli/text_argument.h"
#include "tools/cli/token_ids.h"

namespace vkformer {

namespace {

/// What the command was given, under Hugging Face's names.
using Tensors = std::map<std::string, IdMatrix>;

Tensors row_of(const Model& model, std::vector<int32_t> ids) {
  check_reads_text(model, "a " + model.family + " model");
  check(!model.has_encoder(), "this {} model wants the ids of its decoder, too; give --ids FILE with both",
        model.family);
  return {{"input_ids", {1, std::ssize(ids), std::move(ids)}}};
}

Tensors tensors_of(const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  Tensors tensors;
  for (const auto& entry : file.tensors()) {
    if (entry.name == "logits") continue;  // of what this command wrote
    check(entry.shape.size() == 2 && entry.elements() > 0, "{}: {} must be [batch, positions]", path.generic_string(),
          in_quotes(entry.name));
    IdMatrix& tensor = tensors[entry.name] = {entry.shape[0], entry.shape[1], {}};
    tensor.values.resize(static_cast<size_t>(entry.elements()));
    file.read_ints(entry, tensor.values);
  }
  return tensors;
}

/// Of a text with the special tokens that belong around it, or of ids that look like 5,17,3; nothing of a file.
std::optional<std::vector<int32_t>> given_row(const LogitsFlags& flags, const std::filesystem::path& folder) {
  if (flags.text) return PromptText(folder).encode(text_argument(*flags.text, ""));
  const bool list = flags.ids.find_first_not_of("0123456789, ") == std::string::npos;
  std::error_code too_long_for_a_name;
  if (list && !std::filesystem::exists(flags.ids, too_long_for_a_name)) return parse_ids(flags.ids, "--ids");
  return std::nullopt;
}

IdBatch batch_of_file(const Model& model, const Tensors& tensors, const std::string& file) {
  try {
    return {model, tensors};
  } catch (const Error& error) {
    fail("{}: {}", file, error.what());
  }
}

}  // namespace

void logits(const LogitsFlags& flags) {
  const auto folder = resolve_model_folder(flags.model);
  const auto adapter = open_adapter(flags.adapter, folder);
  Model model = model_to_generate(folder, flags.dtype, adapter.get());
  auto row = given_row(flags, folder);
  const Tensors tensors = row ? row_of(model, *std::move(row)) : tensors_of(flags.ids);
  const IdBatch batch = row ? IdBatch(model, tensors) : batch_of_file(model, tensors, flags.ids);
  const Weights weights(model.parameters, folder);
  Graph graph;
  const Value result = add_logits(graph, model, add_inputs(graph, model, batch.shape));
  graph.mark_output(result, "logits");
  const auto dimensions = graph.shape(result).dimensions();
  const std::vector<int64_t> shape(dimensions.begin(), dimensions.end());
  graph = with_stored_types(adapted(std::move(graph), model), model);

  auto backend = open_backend(flags.common);
  make_room(model, graph, *backend);
  const auto store = make_model_store(*backend, model);
  load_weights(weights, model, adapter.get(), *store, flags.common.quiet);
  auto program = backend->compile(std::move(graph), store);
  for (const auto& [name, values] : batch.inputs) program->write(name, values);
  program->run();
  const std::vector<float> values = program->read("logits");
  check_results(values, static_cast<size_t>(shape.back()));
  std::vector<TensorSource> written;
  for (const auto& [name, tensor] : tensors)
    written.push_back(TensorSource::of(name, {tensor.rows, tensor.columns}, std::span<const int32_t>(tensor.values)));
  written.push_back(TensorSource::of("logits", shape, std::span<const float>(values)));
  write_safetensors(flags.out, std::move(written));
  if (!flags.common.quiet) vkformer::print("{}: logits [{}]\n", flags.out, fmt::join(shape, ", "));
}

}  // namespace vkformer
