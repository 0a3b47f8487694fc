// `vkformer info`: what a model is, whether it runs here, and what that takes. Allocates nothing on a device.

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "models/families/registry.h"
#include "models/generation/generation.h"
#include "models/model_files.h"
#include "models/parameters.h"
#include "models/seeing/eye_files.h"
#include "models/seeing/eyes.h"
#include "models/seeing/stored_eyes.h"
#include "models/stored_weights.h"
#include "models/text/tokenizer.h"
#include "models/text/vocabulary.h"
#include "models/training/trainer.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"
#include "tools/cli/commands.h"
#include "tools/cli/generation_memory.h"
#include "tools/cli/host_weights.h"
#include "tools/cli/model_folder.h"
#include "tools/cli/output.h"

namespace vkformer {

namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

/// Sizes a config states, under the keys of the families.
struct SizeRow {
  const char* what;
  std::vector<const char*> keys;
};
const std::vector<SizeRow> size_rows = {
    {"layers", {"num_hidden_layers", "n_layer", "n_layers", "num_layers"}},
    {"encoder layers", {"encoder_layers"}},
    {"decoder layers", {"decoder_layers", "num_decoder_layers"}},
    {"width", {"embed_dim", "hidden_size", "n_embd", "n_embed", "d_model", "dim"}},
    {"heads", {"num_attention_heads", "n_head", "n_heads", "num_heads", "attention_heads"}},
    {"encoder heads", {"encoder_attention_heads"}},
    {"decoder heads", {"decoder_attention_heads"}},
    {"key-value heads", {"num_key_value_heads"}},
    {"head width", {"head_dim", "d_kv", "d_head"}},
    {"feed-forward", {"intermediate_size", "n_inner", "d_ff", "d_inner", "hidden_dim", "ffn_dim"}},
    {"encoder feed-forward", {"encoder_ffn_dim"}},
    {"decoder feed-forward", {"decoder_ffn_dim"}},
    {"experts", {"num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"}},
    {"experts of a token", {"num_experts_per_tok", "moe_k", "moe_topk"}},
    {"feed-forward of an expert", {"moe_intermediate_size"}},
    {"feed-forward of the shared expert", {"shared_expert_intermediate_size", "moe_shared_expert_intermediate_size"}},
    {"vocabulary", {"vocab_size"}},
    {"context", {"max_position_embeddings", "n_positions", "seq_length", "max_seq_len"}}};

/// "1,234,567 (1.23 M)"
std::string count_text(int64_t count) {
  std::string digits = fmt::format("{}", count);
  for (size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return fmt::format("{} ({:.2f} M)", digits, static_cast<double>(count) / 1e6);
}

/// Of latent attention: what heads have, and the row of each position that is kept for all of them.
void describe_latent(const nlohmann::json& config, ordered_json& sizes) {
  const auto size = [&](const char* key) {
    const auto found = config.find(key);
    return found != config.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
  };
  if (size("kv_lora_rank") == 0) return;
  sizes.erase("key-value heads");
  sizes["head width"] = size("qk_nope_head_dim") + size("qk_rope_head_dim");
  sizes["value width"] = size("v_head_dim");
  sizes["row of a position"] = size("kv_lora_rank") + size("qk_rope_head_dim");
}

/// The sizes that a config, or a part of one, states; `whose` goes before what they are called.
void add_sizes(const nlohmann::json& json, const std::string& whose, ordered_json& sizes) {
  for (const SizeRow& row : size_rows)
    for (const char* key : row.keys)
      if (const auto size = json.find(key); size != json.end() && size->is_number_integer()) {
        sizes[whose + row.what] = *size;
        break;
      }
}

/// What the config says of itself, whether or not the family is known.
ordered_json describe_config(const JsonObject& config) {
  ordered_json out = {
      {"model_type", nullptr}, {"architectures", ordered_json::array()}, {"sizes", ordered_json::object()}};
  const nlohmann::json& json = config.value();
  if (const auto type = json.find("model_type"); type != json.end()) out["model_type"] = *type;
  if (const auto names = json.find("architectures"); names != json.end() && names->is_array())
    out["architectures"] = *names;
  add_sizes(json, "", out["sizes"]);
  // Of two towers.
  for (const auto& [key, whose] : {std::pair("vision_config", "pictures' "), {"text_config", "texts' "}})
    if (json.contains(key) && json[key].is_object()) add_sizes(json[key], whose, out["sizes"]);
  // Nemotron-H's newer files name its layers instead.
  if (const auto kinds = json.find("layers_block_type"); kinds != json.end() && kinds->is_array())
    out["sizes"]["layers"] = kinds->size();
  describe_latent(json, out["sizes"]);
  return out;
}

ordered_json describe_files(const WeightSource& files) {
  std::map<std::string_view, std::pair<int64_t, int64_t>> types;  // elements and bytes
  for (const auto& tensor : files.tensors()) {
    types[tensor->type()].first += tensor->elements();
    types[tensor->type()].second += static_cast<int64_t>(tensor->bytes());
  }
  ordered_json out = {{"path", files.name()},
                      {"shards", files.file_count()},
                      {"bytes", files.bytes()},
                      {"tensors", files.tensors().size()}};
  for (const auto& [type, sums] : types)
    out["types"][std::string(type)] = {{"elements", sums.first}, {"bytes", sums.second}};
  return out;
}

/// What a text is cut into, or why it can't be: a model without a tokenizer still takes token ids.
ordered_json describe_tokenizer(const fs::path& model) {
  try {
    const JsonObject file = load_model_json(model, tokenizer_file);
    if (Vocabulary::is_one(file)) {
      const Vocabulary vocabulary = Vocabulary::from(file);
      const bool bytes = vocabulary.kind() == Vocabulary::Kind::bytes;
      return {{"kind", bytes ? "bytes" : "characters"}, {"tokens", vocabulary.size()}};
    }
    ordered_json out = {{"kind", Tokenizer::kind_of(file)}, {"tokens", Tokenizer(file).size()}};
    if (!is_gguf(model) && !fs::exists(model / tokenizer_file)) out["made"] = "of older files";
    return out;
  } catch (const Error& error) {
    return {{"none", error.what()}};
  }
}

/// Rows of bytes, or why there are none.
ordered_json memory_of(const std::function<ordered_json()>& rows) {
  try {
    ordered_json out = {{"rows", rows()}, {"total_bytes", int64_t{0}}};
    for (const auto& row : out["rows"]) out["total_bytes"] = out["total_bytes"].get<int64_t>() + row.get<int64_t>();
    return out;
  } catch (const Error& error) {
    return {{"impossible", error.what()}};
  }
}

ordered_json inference_rows(const Model& model, int64_t positions, const Backend* backend) {
  const auto blocks = parameter_blocks(model.parameters, backend ? backend->facts().max_allocation : UINT64_MAX);
  StoreLayout layout;
  add_model(layout, model, blocks);
  if (backend) layout.check_blocks(backend->facts());
  ordered_json rows = {{"parameters and constants", layout.total_bytes()}};
  if (!model.generates()) {
    if (!backend) return rows;
    Graph graph;
    graph.mark_output(
        add_logits(graph, model, add_inputs(graph, model, {.positions = positions, .mask = model.reads_ids()})),
        "logits");
    graph = as_stored(std::move(graph), model, backend->facts());
    rows[fmt::format("temporaries of {} positions", positions)] = backend->plan(graph, layout).total_bytes();
    return rows;
  }
  const GenerationPlan plan = plan_generation(
      model, {.capacity = positions, .source_positions = model.source_context > 0 ? model.source_context : positions},
      blocks, backend ? &backend->facts() : nullptr);
  rows[fmt::format("key-value cache of {} positions{}", positions, model.recurrent ? ", and states" : "")] =
      plan.cache_bytes;
  if (!backend) return rows;
  plan.layout.check_blocks(backend->facts());
  std::vector<int64_t> workspace;  // the programs' temporaries share memory
  const auto add_program = [&](const std::string& what, const Graph& graph) {
    const MemoryPlan memory = backend->plan(graph, plan.layout);
    widen_blocks(workspace, memory.arena_blocks);
    if (!what.empty()) rows["inputs and outputs of " + what] = memory.step_bytes + memory.readback_bytes;
  };
  if (model.has_encoder())
    add_program(fmt::format("a source of {} positions", plan.shape.source_positions), build_encoder(model, plan.shape));
  const RunShape prompt = prompt_run(model, plan.shape, plan.shape.capacity);
  for (const RunShape& run : prompt_runs(model, plan.shape, std::span(&plan.shape.capacity, 1)))
    add_program(run == prompt ? fmt::format("a prompt of {} positions", prompt.positions) : "",
                build_generation(model, plan.shape, run, &backend->facts()));
  add_program("a token", build_generation(model, plan.shape, 1, &backend->facts()));
  rows["temporaries"] = std::accumulate(workspace.begin(), workspace.end(), int64_t{0});
  return rows;
}

ordered_json training_rows(const Model& model, const BatchShape& shape, const Backend& backend) {
  ordered_json rows;
  for (const TrainingPlan::Row& row : plan_training(model, {}, {shape}, backend).rows()) rows[row.what] = row.bytes;
  return rows;
}

/// Whether the device has so much memory free, and if not, which part of the weights would lie in host memory, and with
/// which others a model that writes text would fit. `stored`: with the weights that it has.
ordered_json room_for(const Model& model, Model stored, int64_t needed, int64_t positions, const Backend& backend) {
  const DeviceFacts& facts = backend.facts();
  if (facts.memory_total == 0) return nullptr;  // nobody knows
  ordered_json room = {{"device", facts.name},
                       {"free_bytes", facts.memory_free},
                       {"fits", std::cmp_less_equal(needed, facts.memory_free)}};
  if (room["fits"]) return room;
  const GeneratorShape shape{.capacity = positions,
                             .source_positions = model.source_context > 0 ? model.source_context : positions};
  const HostWeights placed = model.generates() ? place_generator(stored, shape, backend) : place_usual(stored, backend);
  if (placed.bytes > 0)
    room["host_weights"] = {{"bytes", placed.bytes},
                            {"bytes_read", static_cast<int64_t>(placed.read)},
                            {"text", host_weights_text(placed, stored, facts)}};
  if (!model.generates()) return room;
  if (const auto other = fitting_type(model, shape, facts))
    room["dtype"] = {{"name", other->dtype}, {"bytes", other->bytes}};
  return room;
}

void print_row(const char* what, const std::string& text) { print("{:<11} {}\n", what, text); }

void print_room(const ordered_json& room) {
  const std::string free =
      fmt::format("{} has {} free", printable(room["device"].get<std::string>()), size_text(room["free_bytes"]));
  if (room["fits"]) return print_row("fits here", fmt::format("yes: {}", free));
  const std::string way_out =
      room.contains("dtype") ? fmt::format("; with --dtype {} {} are enough", room["dtype"]["name"].get<std::string>(),
                                           size_text(room["dtype"]["bytes"]))
                             : "";
  if (!room.contains("host_weights")) return print_row("fits here", fmt::format("no: {}{}", free, way_out));
  print_row("fits here",
            fmt::format("in part: {}{}", printable(room["host_weights"]["text"].get<std::string>()), way_out));
}

void print_memory(const char* what, const std::string& how, const ordered_json& memory) {
  if (memory.contains("impossible"))
    return print_row(what, fmt::format("{}: impossible: {}", how, memory["impossible"].get<std::string>()));
  print_row(what, fmt::format("{}: {}", how, size_text(memory["total_bytes"])));
  for (const auto& [row, bytes] : memory["rows"].items()) print("{:11} {:<48} {:>12}\n", "", row, size_text(bytes));
}

void print_report(const ordered_json& out, const InfoFlags& flags) {
  std::vector<std::string> list;
  for (const auto& name : out["architectures"]) list.push_back(printable(name.dump(), 60));
  const std::string type = out["model_type"].is_string() ? out["model_type"].get<std::string>() : "no model_type";
  print_row("model", printable(type) + (list.empty() ? "" : fmt::format(" ({})", fmt::join(list, ", "))));
  list.clear();
  for (const auto& [what, size] : out["sizes"].items()) list.push_back(fmt::format("{} {}", what, size.dump()));
  if (!list.empty()) print_row("sizes", fmt::format("{}", fmt::join(list, ", ")));
  if (out.contains("parameters")) print_row("parameters", count_text(out["parameters"]));
  if (out.contains("pictures")) {
    const ordered_json& picture = out["pictures"];
    const auto number = [&](const char* key) { return picture[key].get<int64_t>(); };
    print_row("pictures", fmt::format("{} x {} pixels in patches of {} x {}, {} positions", number("height"),
                                      number("width"), number("patch"), number("patch"), number("positions")));
  }
  if (out.contains("files")) {
    const ordered_json& files = out["files"];
    list.clear();
    for (const auto& [name, sums] : files["types"].items())
      list.push_back(fmt::format("{} {}", size_text(sums["bytes"]), name));
    const size_t shards = files["shards"];
    print_row("files", fmt::format("{}{}, {} tensors: {}", files["path"].get<std::string>(),
                                   shards > 1 ? fmt::format(", {} shards", shards) : "", files["tensors"].get<size_t>(),
                                   fmt::join(list, ", ")));
  }
  if (out.contains("tokenizer")) {
    const ordered_json& tokenizer = out["tokenizer"];
    print_row("tokenizer", tokenizer.contains("none")
                               ? "none: " + tokenizer["none"].get<std::string>()
                               : fmt::format("{}, {} tokens{}", tokenizer["kind"].get<std::string>(),
                                             tokenizer["tokens"].get<int64_t>(),
                                             tokenizer.contains("made") ? ", made of older files" : ""));
  }
  if (out.contains("skipped") && !out["skipped"].empty())
    print_row("", skipped_line(out["skipped"].get<std::vector<std::string>>()));
  if (out.contains("inference")) print_memory("inference", "one sequence", out["inference"]);
  if (out.contains("fits") && out["fits"].is_object()) print_room(out["fits"]);
  if (out.contains("training"))
    print_memory("training", fmt::format("batch {}, context {}", flags.batch, flags.context), out["training"]);
  if (out["supported"]) print_row("supported", "yes");
}

/// The device to plan for. Without one, only what needs no plan is shown.
std::unique_ptr<Backend> backend_to_plan_for(const CommonFlags& flags) {
  if (!flags.device.empty()) return open_backend(flags);
  try {
    return open_backend(flags);
  } catch (const Error& error) {
    say("temporaries are not counted: {}", error.what());
    return nullptr;
  }
}

/// What sees in a model.
struct EyesPart {
  int64_t bytes = 0;                     ///< in memory, once there is a picture
  std::vector<std::string> unread = {};  ///< tensors of the model's own files that it does not read
};

/// Eyes that are not supported say so when they are to see something; those that were `asked` for, at once.
std::optional<EyesPart> eyes_of(const Model& text, const fs::path& folder, const InfoFlags& flags) try {
  const fs::path mmproj = resolve_mmproj(flags.mmproj, flags.model, folder);
  const bool apart = !mmproj.empty();
  if (!apart && (is_gguf(folder) || !has_eyes(load_model_json(folder, "config.json")))) return std::nullopt;
  Eyes eyes = apart ? eye_files(folder, mmproj, PromptText(folder), text.vocabulary).eyes
                    : make_eyes(load_model_json(folder, "config.json"));
  const fs::path& files = apart ? mmproj : folder;
  store_eyes_as(eyes, files, "");
  const Weights weights(eyes.model.parameters, files);
  return EyesPart{eyes.weight_bytes(), apart ? Weights(text.parameters, folder).extra() : weights.extra()};
} catch (const Error&) {
  if (!flags.mmproj.empty()) throw;
  return std::nullopt;
}

/// Fills in everything that needs a supported model. Throws Error saying why it is not.
void describe_model(ordered_json& out, const JsonObject& config, const fs::path& folder, InfoFlags& flags) {
  const Model model = folder.empty() ? make_model(config) : load_model(folder);
  out["parameters"] = model.parameter_count();
  if (!model.reads_ids()) out.erase("tokenizer");
  if (const PictureShape& picture = model.picture; model.sees())
    out["pictures"] = {{"height", picture.height},
                       {"width", picture.width},
                       {"patch", picture.patch},
                       {"positions", picture.positions()}};
  Model generating = model;
  std::optional<EyesPart> eyes;
  if (!folder.empty()) {
    out["skipped"] = Weights(model.parameters, folder).extra();
    eyes = eyes_of(model, folder, flags);
    if (eyes)  // what it reads is not skipped
      std::erase_if(out["skipped"].get_ref<ordered_json::array_t&>(), [&](const ordered_json& tensor) {
        return std::ranges::count(eyes->unread, tensor.get<std::string>()) == 0;
      });
    store_weights_as(generating, folder, "");
  }
  if (flags.context == 0) flags.context = model.context > 0 ? model.context : usual_positions;
  if (model.context > 0 && flags.context > model.context)
    throw UsageError(fmt::format("--context {} is beyond the model's {} positions", flags.context, model.context));
  const auto backend = backend_to_plan_for(flags.common);
  out["inference"] = memory_of([&] {
    ordered_json rows = inference_rows(generating, flags.context, backend.get());
    if (eyes) rows["eyes, for pictures"] = eyes->bytes;
    return rows;
  });
  if (backend && out["inference"].contains("total_bytes"))
    out["fits"] = room_for(model, generating, out["inference"]["total_bytes"], flags.context, *backend);
  if (backend)
    out["training"] =
        memory_of([&] { return training_rows(model, usual_batch(model, flags.batch, flags.context), *backend); });
  out["supported"] = true;
}

}  // namespace

void info(InfoFlags flags) {
  const fs::path given = flags.model;
  const bool only_config = fs::is_regular_file(given) && !is_gguf(given);
  if (only_config && !flags.mmproj.empty())
    throw UsageError(fmt::format("--mmproj is for a .gguf, and {} is a config.json; leave it out", flags.model));
  const fs::path folder = only_config ? fs::path() : resolve_model_folder(given);
  const JsonObject config = only_config ? load_config_file(given) : load_model_json(folder, "config.json");
  ordered_json out = describe_config(config);
  out["supported"] = false;
  std::string reason;
  try {
    if (!folder.empty()) out["tokenizer"] = describe_tokenizer(folder);
    if (!folder.empty()) out["files"] = describe_files(*open_weights(folder));
    describe_model(out, config, folder, flags);
  } catch (const UsageError&) {
    throw;
  } catch (const Error& error) {
    out["reason"] = reason = error.what();
  }
  if (flags.common.json)
    print("{}\n", out.dump(1, ' ', false, ordered_json::error_handler_t::replace));
  else
    print_report(out, flags);
  flush_output();
  check(reason.empty(), "not supported: {}", reason);
}

}  // namespace vkformer
