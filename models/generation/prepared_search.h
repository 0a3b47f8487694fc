#pragma once
// A batch of prompts or sources, from ids of unlike lengths to the end of a search.

#include "models/generation/beam_search.h"
#include "models/generation/generation.h"

namespace vkformer {

/// A search and all that a Generator needs to run it. Nothing of it is on a device.
struct PreparedSearch {
  GeneratorShape shape;                ///< for the Generator
  int64_t prompt = 1;                  ///< tokens of a row's prompt, padding included; behind an encoder 1
  std::vector<int32_t> sources, mask;  ///< with an encoder: its ids, padded behind their ends, and 0 for padding
  std::vector<float> frames;           ///< instead of those: its frames
  std::unique_ptr<Search> search;
};

/// `given`: the ids of each prompt or, with an encoder, of each source; lengths may differ. Where `config` does not ask
/// for a number of new tokens, sequences end where the model's context ends. Sources are padded to the longest, or to
/// `source_positions` if that is more. Throws Error when the model does not write text, for prompts, sources or
/// max_new_tokens beyond its context, and like make_search.
PreparedSearch prepare_search(const Model& model, GenerationConfig config, std::vector<std::vector<int32_t>> given,
                              int64_t source_positions = 0);

/// The same behind an encoder that reads frames, those of one source behind another's and all alike many. `prompts`: of
/// each source what the decoder goes on from, all of one length.
PreparedSearch prepare_search(const Model& model, GenerationConfig config, std::vector<float> frames,
                              std::vector<std::vector<int32_t>> prompts);

/// Runs the search to its end: sources through the encoder, prompts padded in front to one length, then token by token.
/// `generator` has the prepared shape. `on_logits` (optional) sees the logits of every step: [rows, V] unless the shape
/// has choices. `goes_on` (optional) is asked behind each step: false leaves the search there, undone.
void run_search(Generator& generator, PreparedSearch& prepared,
                const std::function<void(std::span<const float>)>& on_logits = {},
                const std::function<bool()>& goes_on = {});

}  // namespace vkformer
