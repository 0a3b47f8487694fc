#pragma once
// Texts, or pairs of texts, as the ids of padded batches of an encoder.

#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "models/data/length_batches.h"
#include "models/data/training_data.h"
#include "models/text/tokenizer.h"

namespace vkformer {

struct TokenTexts {
  std::vector<std::vector<int32_t>> ids;       ///< with the tokenizer's special tokens
  std::vector<std::vector<int32_t>> segments;  ///< token types of the same
  int64_t cut = 0;                             ///< texts that were longer

  /// Adds a text or a pair, cut to `most` tokens (see Tokenizer::encode_within). Throws Error, which begins with
  /// `place`, for a text without tokens and for what is not UTF-8.
  void add(const Tokenizer& tokenizer, std::string_view first, std::optional<std::string_view> second, int64_t most,
           std::string_view place, Tokenizer::Shorten which = Tokenizer::Shorten::longer);
  /// The last one filled up to `length` with an id of token type 0.
  void fill_last(int32_t id, int64_t length);
  std::vector<ExampleLength> lengths() const;
  int64_t tokens() const;
  int32_t largest_segment() const;
  /// How many texts have the same tokens as an earlier one.
  int64_t repeated() const;
};

/// How a model takes texts.
struct TextInputs {
  int32_t padding = 0;  ///< an id; all of it is masked
  bool padding_in_front = false;
  bool segments = false;
  /// Of batches, for texts that come piece by piece: what is recorded of a piece serves the next. nullptr: those that
  /// suit the texts.
  const LengthBatches* shapes = nullptr;
};

/// For texts with token types up to `largest_segment`. Throws Error for types that the model has not. One that has only
/// one type, or none, takes no segments.
TextInputs text_inputs(const Model& model, int32_t largest_segment);

/// The shapes that suit texts of these lengths: few, so that recording them pays. Batches have at most `positions`.
LengthBatches shapes_by_length(std::span<const ExampleLength> lengths, int64_t positions);

BatchShape text_shape(const LengthBatches::Bucket& bucket, const TextInputs& inputs);

/// "ids", "mask" and, if asked for, "segments" of some of the texts, a row each; rows past them are padding.
DataBatch text_batch(const BatchShape& shape, const TokenTexts& texts, std::span<const uint32_t> examples,
                     const TextInputs& inputs);

/// Any number of texts, those of like length together, in batches of the shapes of `inputs` or, where it names none, of
/// at most `positions`; in whatever order.
void for_batches_by_length(const TokenTexts& texts, const TextInputs& inputs, int64_t positions,
                           const std::function<void(const DataBatch& batch, std::span<const uint32_t> examples)>& take);

}  // namespace vkformer
