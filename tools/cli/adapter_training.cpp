#include "tools/cli/adapter_training.h"

#include <algorithm>
#include <map>

#include "models/model_files.h"
#include "models/stored_weights.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"
#include "tools/cli/lora_flag.h"
#include "tools/cli/model_folder.h"
#include "tools/cli/output.h"

namespace vkformer {

namespace {

/// The type that files' weights are kept in when nothing else is asked for: that of most of them if they can be written
/// in it again without a loss, of other blocks f16.
DType type_of_most(const WeightSource& files) {
  std::map<std::string_view, uint64_t> bytes;
  for (const auto& tensor : files.tensors()) bytes[tensor->type()] += tensor->bytes();
  const std::string_view most = std::ranges::max_element(bytes, {}, [](const auto& of) { return of.second; })->first;
  for (const auto& [name, dtype] :
       {std::pair{"F32", DType::f32}, {"F16", DType::f16}, {"BF16", DType::bf16}, {"Q8_0", DType::q8_0}})
    if (most == name) return dtype;
  return DType::f16;
}

DType kept_type(const TrainFlags& flags, DType of_files) {
  const DType products = flags.settings.products;
  const DType kept = !flags.weights.empty() ? weight_type(flags.weights) : is_half(products) ? products : of_files;
  check(!is_half(products) || kept == DType::f32 || products == kept,
        "--weights {0} with --precision {1}: products take operands of one type; leave --precision out, or give "
        "--weights "
        "{1}",
        name_of(kept), name_of(products));
  return kept;
}

}  // namespace

void give_adapter(const TrainFlags& flags, Model& model, DType of_files, const std::string& base,
                  const std::vector<std::string>& anew) {
  const LoraFlag lora = lora_flag(flags.lora);
  if (const DType kept = kept_type(flags, of_files); kept != DType::f32) store_weights_as(model, kept);
  adapt(model, lora.config, modules_of_targets(model, lora.targets), base, whole_modules(model, anew));
}

Weights adapt_folder(const TrainFlags& flags, Model& model, RunState& state) {
  const std::filesystem::path folder = std::filesystem::absolute(resolve_model_folder(flags.from)).lexically_normal();
  check(is_utf8(folder.generic_string()), "{}: adapter_config.json can't keep a path that is not UTF-8; rename it",
        printable(folder.generic_string()));
  const Weights before(model.parameters, folder);
  give_adapter(flags, model, type_of_most(before.files()), folder.generic_string(), before.absent());
  // What a run goes on with is in its checkpoint.
  for (ParameterSpec& parameter : model.parameters) parameter.adapter |= flags.resume && parameter.trains();
  if (!flags.resume && !flags.plan) state.base_print = base_print(folder);
  if (!flags.resume && !flags.plan && std::filesystem::exists(folder.parent_path() / "latest"))
    say("the adapter needs {} as it is; training that run on replaces it, so copy it first", folder.generic_string());
  return {model.parameters, folder};
}

void store_as_trained(const TrainFlags& flags, Model& model) {
  const DType kept = kept_type(flags, type_of_most(*open_weights(flags.from)));
  if (kept != DType::f32) store_weights_as(model, kept);
}

void take_adapter(TrainFlags& flags, const std::filesystem::path& folder) {
  const AdapterFiles adapter(folder);
  if (flags.from.empty()) flags.from = adapter.base();
  check(!flags.from.empty() && std::filesystem::exists(flags.from),
        "{} is an adapter of {}, which is not there; name that model's folder with --from", folder.generic_string(),
        in_quotes(flags.from));
  flags.from = resolve_model_folder(flags.from).generic_string();
  flags.lora = fmt::format("r={}", adapter.config().rank);
}

}  // namespace vkformer
