#pragma once
// Which positions look at which: the weights of every attention of a model, for one text.

#include "models/model.h"

namespace vkformer {

/// The weights of one layer's heads.
struct AttentionMap {
  enum class Kind : uint8_t {
    encoder,  ///< positions see each other
    decoder,  ///< positions see themselves and earlier ones
    cross,    ///< a decoder's positions see its encoder's
  };
  Kind kind = Kind::encoder;
  int64_t layer = 0;                ///< among those of its kind; where others have states instead, among all
  int64_t heads = 0;                ///< H
  int64_t queries = 0, keys = 0;    ///< T, S
  std::vector<float> weights = {};  ///< [H, T, S]; each row sums to 1, without dropout
};
std::string_view name_of(AttentionMap::Kind kind);

/// One text as a model's ids.
struct InspectedText {
  std::vector<int32_t> ids;            ///< of the decoder where there is an encoder: its start and what it has written
  std::vector<int32_t> source = {};    ///< with an encoder: its ids
  std::vector<int32_t> segments = {};  ///< token types of `ids`; empty: none
};

/// Runs the model once, without dropout, and gives the weights of each attention in the order in which they are
/// computed. `weights` has the parameters and constants. Throws Error for ids that the model can't take (see add_inputs
/// and check_feed).
std::vector<AttentionMap> attention_maps(Backend& backend, const Model& model, std::shared_ptr<Store> weights,
                                         const InspectedText& text);

}  // namespace vkformer
