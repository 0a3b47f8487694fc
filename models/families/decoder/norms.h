#pragma once
// The norms of a Decoder: which of them have gains, and under what names.

#include "models/families/decoder/decoder.h"
#include "models/families/layers.h"

namespace vkformer {

/// The gains of norms that have none, of layers and of heads.
inline constexpr const char *unit_gain = "norm.ones", *head_unit_gain = "norm.ones.head";

bool has_gains(const Decoder& decoder);
/// What is added to the gains that files store.
double gain_offset(const Decoder& decoder);
/// The gain of a norm of `columns`, and the bias where norms have one, as the decoder's begin.
void add_gain(ParameterList& list, const Decoder& decoder, const std::string& norm, int64_t columns);

}  // namespace vkformer
