#include <fmt/ranges.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "models/model_files.h"
#include "models/model_folder.h"
#include "python/bindings/arrays.h"
#include "python/bindings/module.h"
#include "python/bindings/python_trainer.h"
#include "python/bindings/timing_rows.h"
#include "runtime/check.h"

namespace vkformer::python {

namespace {

/// The shape that targets have for a batch of ids.
std::vector<int64_t> target_shape(const Model& model, const BatchShape& batch) {
  switch (model.task) {
    case Task::classify: return {batch.rows};
    case Task::answer: return {batch.rows, 2};
    default: return {batch.rows, batch.positions};
  }
}

OwnedBatch batch_of(const Model& model, const py::dict& arrays) {
  std::map<std::string, IdMatrix> tensors;
  std::optional<IntArray> targets;
  for (const auto& [key, values] : arrays) {
    if (values.is_none()) continue;
    const std::string name = text_of(key, "a name of an array");
    IntArray array(values, name);
    if (name == "targets")
      targets = std::move(array);
    else
      tensors[name] = std::move(array).matrix();
  }
  IdBatch ids(model, tensors);
  check(targets.has_value(), "a batch of training needs targets");
  const auto wanted = target_shape(model, ids.shape);
  const bool row = targets->shape().size() == 1 && wanted.size() == 2 && wanted[0] == 1;
  check(targets->shape() == wanted || (row && targets->shape()[0] == wanted[1]), "targets are [{}], not [{}]",
        fmt::join(targets->shape(), ", "), fmt::join(wanted, ", "));
  return {std::move(ids), std::move(*targets).all()};
}

std::unique_ptr<PythonTrainer> make(const py::object& model, const DeviceName& device,
                                    const std::filesystem::path& tokenizer, const py::kwargs& settings) {
  const bool is_config = py::isinstance<py::dict>(model);
  const auto path = is_config ? std::filesystem::path() : model.cast<std::filesystem::path>();
  const bool is_file = std::filesystem::is_regular_file(path) && path.extension() == ".json";
  TrainerOptions options;
  if (!is_config && !is_file) options.settings.learning_rate = settings.contains("lora") ? lora_rate : fine_tuning_rate;
  options.settings.min_learning_rate = options.settings.learning_rate / 10;
  options.take(json_of(settings));
  const nlohmann::json config = is_config ? json_of(model) : nlohmann::json();
  const WithoutGil without;
  if (!is_config && !is_file) {
    check(tokenizer.empty(), "the tokenizer of '{}' is its own; leave out tokenizer", path.generic_string());
    const auto folder = std::filesystem::absolute(resolve_model_folder(path)).lexically_normal();
    return std::make_unique<PythonTrainer>(folder, text_of(device), options);
  }
  check(tokenizer.empty() || std::filesystem::is_directory(tokenizer) || is_gguf(tokenizer),
        "tokenizer '{}' is no folder", tokenizer.generic_string());
  return std::make_unique<PythonTrainer>(is_file ? JsonObject::load(path).value() : config,
                                         tokenizer.empty() ? tokenizer : resolve_tokenizer_folder(tokenizer),
                                         text_of(device), options);
}

OwnedBatch one_batch(const Model& model, const py::object& batch, const py::kwargs& arrays, const char* call) {
  if (batch.is_none() == (py::len(arrays) == 0) || !(batch.is_none() || py::isinstance<py::dict>(batch)))
    throw py::type_error(std::string(call) + "() takes one batch, as keywords or as a dict");
  return batch_of(model, batch.is_none() ? py::dict(arrays) : py::reinterpret_borrow<py::dict>(batch));
}

/// Keywords are a batch; else it is a dict, or a list of them, one for each micro-batch.
double step(PythonTrainer& trainer, const py::object& batches, const py::kwargs& arrays) {
  if (batches.is_none() == (py::len(arrays) == 0))
    throw py::type_error("step() takes one batch as keywords, or a list of dicts");
  std::vector<OwnedBatch> owned;
  const Model& model = trainer.model()->model();
  if (batches.is_none())
    owned.push_back(batch_of(model, arrays));
  else if (py::isinstance<py::dict>(batches))
    owned.push_back(batch_of(model, batches));
  else
    for (const py::handle batch : batches) {
      if (!py::isinstance<py::dict>(batch)) throw py::type_error("each micro-batch must be a dict of arrays");
      owned.push_back(batch_of(model, py::reinterpret_borrow<py::dict>(batch)));
    }
  return trainer.step(owned);
}

}  // namespace

void add_trainer(py::module_& module) {
  py::class_<PythonTrainer>(
      module, "Trainer",
      R"(Trains a model of any family on batches of a Python program: forward, backward, clipping and AdamW are one recorded
program, and more are recorded for batches of other shapes as they come.)")
      .def(
          py::init(&make), py::arg("model"), py::kw_only(), py::arg("device") = "", py::arg("tokenizer") = "",
          R"(Of a config (a dict, or the file config.json), with parameters at their start values, or of a model folder, from its weights.

Settings are keywords: batch_size (12) and context (the model's), which memory is planned for; accumulate (1);
iterations (2000), learning_rate (1e-3; of a folder 5e-5, with lora 1e-4), min_learning_rate (a tenth), schedule ("cosine", "linear", "inverse-sqrt",
"noam", "constant"), warmup (100); beta1 (0.9), beta2 (0.99), epsilon (1e-8), weight_decay (0.1), clip (1.0);
label_smoothing (the config's); moving_average (0); precision ("f32", "bf16", "f16"), loss_scale (65536); checkpoint_activations (False); offload_optimizer (False); seed (1337); profile (False); token_type_ids (False): batches have them,
for which an XLNet has parameters of its own.

lora={"r": 8, "alpha": 8, "dropout": 0, "rslora": False, "targets": ["q_proj", ..]} trains an adapter beside a folder's
weights, which are frozen and kept as `weights` ("f32", or what `precision` says).)")
      .def_static(
          "resume",
          [](const std::filesystem::path& run, const DeviceName& device, const py::kwargs& changes) {
            const nlohmann::json settings = json_of(changes);
            const WithoutGil without;
            return PythonTrainer::resume(run, text_of(device), settings);
          },
          py::arg("run"), py::kw_only(), py::arg("device") = "",
          R"(Goes on from what save() wrote, bit for bit, unless keywords change its settings.)")
      .def("step", step, py::arg("batches") = py::none(),
           R"(One iteration: the mean loss over the targets of its batch, before the update.

A batch is input_ids [B, T], targets (of a decoder [B, T]: the ids one position further; of a classifier [B]; -100: none),
and what Model.logits() takes beside input_ids; as keywords, or as a list of dicts, one for each micro-batch.)")
      .def(
          "evaluate",
          [](PythonTrainer& trainer, const py::object& batch, const py::kwargs& arrays) {
            return trainer.evaluate(one_batch(trainer.model()->model(), batch, arrays, "evaluate"));
          },
          py::arg("batch") = py::none(),
          R"(The mean loss over the targets of a batch, without dropout, label smoothing and update.)")
      .def(
          "save", &PythonTrainer::save, py::arg("run"),
          R"(Writes RUN/checkpoint-NNNNNN, which resume(), Model(RUN) and the command read, and removes the one before it.

A folder that holds another run is refused.)")
      .def(
          "timings", [](PythonTrainer& self) { return timing_rows(self.timings()); },
          R"(What each node of an iteration's programs took in its last run, of a trainer made with profile=True; as Model.timings().)")
      .def_property_readonly("model", &PythonTrainer::model,
                             R"(The model as it is trained: what it computes and writes now.)")
      .def_property_readonly("iteration", &PythonTrainer::iteration, R"(How many iterations it has had.)")
      .def_property_readonly("gradient_norm", &PythonTrainer::gradient_norm,
                             R"(Of the last step's gradient, before clipping.)")
      .def_property_readonly("learning_rate", &PythonTrainer::learning_rate, R"(Of the next step.)");
}

}  // namespace vkformer::python
