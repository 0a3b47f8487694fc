#pragma once
// How a model is trained, and the schedule that follows from it. What a batch looks like is said by BatchShape alone.

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/device_facts.h"
#include "runtime/passes/precision.h"

namespace vkformer {

/// How the learning rate goes on after a linear warm-up.
enum class Schedule : uint8_t {
  cosine,        ///< from learning_rate to min_learning_rate at `iterations` (nanoGPT's)
  linear,        ///< the same along a line (transformers' default, with a least rate of 0)
  inverse_sqrt,  ///< learning_rate * sqrt(warmup / iteration) (fairseq's, Marian's)
  noam,          ///< the same with learning_rate * width^-0.5 * warmup^-0.5 as the peak ("Attention is all you need")
  constant,
};
/// By its name on the command line: "inverse-sqrt". Throws UsageError for others.
Schedule schedule_named(std::string_view name);
std::string_view name_of(Schedule schedule);

struct TrainSettings {
  int64_t accumulate = 1;  ///< micro-batches of one iteration
  /// An iteration's micro-batches are cut into so many parts, whose gradients are added as a binary tree adds them: so
  /// as many processes, or a half, a quarter .., come to the same bits. A power of two, at most `accumulate`.
  int64_t gradient_parts = 1;
  int64_t iterations = 2000;
  double learning_rate = 1e-3;
  double min_learning_rate = 1e-4;  ///< at the end of a cosine or line
  Schedule schedule = Schedule::cosine;
  int64_t width = 0;     ///< of the model, for Schedule::noam
  int64_t warmup = 100;  ///< iterations of linear warm-up
  double beta1 = 0.9, beta2 = 0.99, epsilon = 1e-8;
  double weight_decay = 0.1;
  /// Decay of a moving average of the parameters, as 0.999; 0: none is kept. An iteration that is repeated because f16
  /// overflowed moves it twice.
  double moving_average = 0;
  double clip = 1.0;  ///< of the global gradient norm; 0: off
  uint32_t seed = 1337;
  /// Activations inside layers are computed again in the backward pass instead of kept. Results have the same bits.
  bool checkpoint_activations = false;
  /// f16 or bf16: operands of matrix products are rounded to it (mixed precision), on GPUs values between ops, too, and
  /// their gradients; parameters, the residual stream, sums, gradients of parameters and AdamW stay f32.
  DType products = DType::f32;
  /// With f16 products the loss is scaled so that small gradients do not vanish. It starts with this scale, doubles
  /// every 2000 iterations, and halves when a gradient overflows; that iteration is then repeated.
  double loss_scale = 65536;

  /// Gradients are those of a scaled loss.
  bool scales_loss() const { return products == DType::f16; }
  /// On GPUs values are 16-bit, since memory is what bounds the ops between products, and rows of logits whole vectors.
  /// (CPUs have no fast kernels for the one and do not need the other.) Logits take a sixteenth of the device's memory
  /// at most, and no more than a GiB, which is work enough for any device.
  MixedPrecision precision(const DeviceFacts& facts) const;
  bool operator==(const TrainSettings&) const = default;
};

/// Of iteration 1, 2, ...
double learning_rate_at(const TrainSettings& settings, int64_t iteration);

/// What the moving average moves towards the parameters by, after iteration 1, 2, ...: all the way at first, later by
/// 1 - moving_average, before that by Marian's 9 / (iteration + 10), so that the first iterations are soon forgotten.
double average_rate_at(const TrainSettings& settings, int64_t iteration);

/// What AdamW reads of an iteration (1, 2, ...), see shaders/adamw: the learning rate, its bias corrections and, where
/// the loss is scaled, 1 / scale.
std::vector<float> adamw_schedule(const TrainSettings& settings, int64_t iteration, double scale);

}  // namespace vkformer
