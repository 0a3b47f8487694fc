#pragma once
// The graphs of training: loss, gradients, update.

#include <map>

#include "models/model.h"
#include "models/parameters.h"
#include "models/training/train_settings.h"
#include "runtime/passes/precision.h"

namespace vkformer {

/// A model's loss graph with everything training needs of it.
struct TrainingGraph {
  Graph graph;
  Value loss;        ///< output "loss" [1]: mean cross-entropy of the batch, targets of -100 ignored
  Values gradients;  ///< of the model's parameters, in their order; absent where the loss does not reach one
  std::map<std::string, Value> joint;  ///< gradients of joint tensors, of which those of their parts are copies
  int64_t classes = 0;                 ///< targets lie below
};

/// The loss is the mean of the cross-entropies of logits and "targets". Of a causal model with a `preference` it
/// is that of direct preference optimisation (Rafailov et al. 2023): rows 2 i and 2 i + 1 are the preferred and the
/// other text of pair i, and with log p the sum of the log-likelihoods of a row's "labels" i32 [B, T] and r what
/// "reference" [B] has of the model that the training began with,
///
///   loss = mean over pairs of -log sigmoid(beta ((log p - r)[2 i] - (log p - r)[2 i + 1])),
///
/// the cross-entropy of rewards beta (log p - r) [B / 2, 2] and "targets" i32 [B / 2], of 0, or -100 for no pair. Of
/// IPO (Azar et al. 2023; means over tokens as TRL has them) and SimPO (Meng et al. 2024) each log p - r is weighed by
/// "per_token" [B], 1 / the number of a row's labels. SimPO's r is gamma / beta for each token of the preferred text,
/// else 0, so that its reward is beta times the mean log p, less gamma; IPO's loss is the mean of (the difference of
/// both - "wanted")^2, "wanted" [B / 2] being 1 / (2 beta), by "shares" [B / 2] as below.
///
/// Of a model without a head that has a `similarity` it is that of in-batch negatives (van den Oord et al. 2018,
/// "InfoNCE"; sentence-transformers' MultipleNegativesRankingLoss): its B rows are n queries, n texts that are similar
/// to them, and as many of each other kind. With v the vectors of length 1 of rows' hidden states, weighed by "pooling"
/// [B, T], the logits are [n, B - n]: scale v[query] . v[text] + "apart" [n, B - n], and "targets" i32 [n] the places
/// of texts.
///
/// Of a model whose logits z are sigmoids' (Task::score) it is their binary cross-entropy with "wanted" w of their
/// shape, from 0 to 1, the mean of log(1 + exp z) - w z, of a model of numbers (Task::number) the mean of (z - w)^2.
/// "shares" of their shape is 1 / the number of those that count and 0 for others, "targets" i32, flat, 0 and -100.
///
/// Inputs: those of add_inputs(), "targets" i32 (the logits' shape without its last dimension; of an answer [B, 2]),
/// "seed" i32 [2], "loss_gradient" [1]: what this batch's mean counts for in the loss that is differentiated (1 if it
/// is all of it).
TrainingGraph build_loss_and_gradients(const Model& model, const BatchShape& shape, bool checkpoint_activations = false,
                                       const MixedPrecision& precision = {});
/// A model without a head (without_head()) as one that learns which texts are similar. Throws Error for another.
Model that_learns_similarity(Model model, const Similarity& similarity);
/// Output "loss" [1], without dropout and label smoothing. Inputs: those of add_inputs(), and "targets".
/// `classes`: gets the number that targets lie below.
Graph build_evaluation(const Model& model, const BatchShape& shape, const MixedPrecision& precision = {},
                       int64_t* classes = nullptr);

/// Output "log_likelihoods" [B]: of the "labels" i32 [B, T] of each row, those of -100 ignored, by a causal model.
Graph build_log_likelihoods(const Model& model, const BatchShape& shape, const MixedPrecision& precision = {});

/// Name of the moving average of the parameters, see add_parameter_blocks().
inline constexpr std::string_view average_name = "average";
/// What the update keeps of each trained parameter: AdamW's two moments and, if there is one, the moving average.
std::vector<std::string_view> state_names(const TrainSettings& settings);

/// Blocks of the parameters that have a gradient, then of those that rest.
std::vector<ParameterBlock> training_blocks(const Model& model, const Values& gradients, uint64_t max_allocation);
/// The gradients joined like the trained blocks.
Values join_gradients(TrainingGraph& training, const Model& model, const std::vector<ParameterBlock>& blocks);
/// Appends clipping (output "norm" [1]) and AdamW (input "schedule", see adamw_schedule()) on the joined gradients of
/// the trained blocks and, if there is one, the moving average (input "average_rate" [1], see average_rate_at()).
void append_update(Graph& graph, const std::vector<ParameterBlock>& blocks, const Values& gradients,
                   const TrainSettings& settings);
/// Appends what adds the joined gradients to the sums of an iteration, "gradient.0" ..; input "first" i32 [1]: not 0
/// for its first micro-batch.
void append_accumulation(Graph& graph, const Values& gradients);
/// The update by those sums; `elements`: of each.
Graph build_update(const std::vector<ParameterBlock>& blocks, const std::vector<int64_t>& elements,
                   const TrainSettings& settings);

}  // namespace vkformer
