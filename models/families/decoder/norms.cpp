#include "models/families/decoder/norms.h"

namespace vkformer {

using Norm = Decoder::Norm;

bool has_gains(const Decoder& decoder) { return decoder.norm != Norm::plain && decoder.norm != Norm::rms_plain; }

double gain_offset(const Decoder& decoder) { return decoder.gain_less_one ? 1 : 0; }

void add_gain(ParameterList& list, const Decoder& decoder, const std::string& norm, int64_t columns) {
  if (!has_gains(decoder)) return;
  if (decoder.norm == Norm::layer)
    list.layer_norm(norm, columns);
  else if (decoder.gain_less_one)
    list.zeros(norm + ".weight", {columns});
  else
    list.rms_norm(norm, columns);
}

}  // namespace vkformer
