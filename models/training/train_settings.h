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

/// The numbers that a setting may be, both included.
struct SettingBounds {
  double least = 0;
  double most = 0x1p31;  ///< what the command line takes
};

/// Peak learning rates where nobody says one, for a trained model and for an adapter: those of transformers' Trainer
/// and of PEFT's examples.
inline constexpr double fine_tuning_rate = 5e-5, lora_rate = 1e-4;
/// The same for preferences: TRL's, and ten times that, as its guide has it.
inline constexpr double preference_rate = 1e-6, preference_lora_rate = 1e-5;

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
  /// What the update keeps (AdamW's moments, the moving average) lies in host memory, which it reads and writes over
  /// the bus. Results have the same bits.
  bool offload_optimizer = false;
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

/// Calls visit(name, value, bounds) for each setting that is a number or a flag, by the names that files have: one
/// table for whoever writes, reads or takes them.
template <class Settings, class Visit>
void visit_train_settings(Settings& s, Visit&& visit) {
  using Bounds = SettingBounds;
  constexpr Bounds counted{.least = 1}, any_size{.most = 1e300}, decay{.most = 0.9999999};
  visit("accumulate", s.accumulate, counted);
  visit("gradient_parts", s.gradient_parts, Bounds{1, 1 << 16});
  visit("iterations", s.iterations, counted);
  visit("learning_rate", s.learning_rate, any_size);
  visit("min_learning_rate", s.min_learning_rate, any_size);
  visit("warmup", s.warmup, Bounds());
  visit("beta1", s.beta1, decay);
  visit("beta2", s.beta2, decay);
  visit("epsilon", s.epsilon, any_size);
  visit("weight_decay", s.weight_decay, any_size);
  visit("moving_average", s.moving_average, decay);
  visit("clip", s.clip, any_size);
  visit("seed", s.seed, Bounds{.most = 0xffffffff});
  visit("checkpoint_activations", s.checkpoint_activations, Bounds());
  visit("offload_optimizer", s.offload_optimizer, Bounds());
  visit("loss_scale", s.loss_scale, Bounds{0x1p-20, 0x1p100});
}

/// Of iteration 1, 2, ...
double learning_rate_at(const TrainSettings& settings, int64_t iteration);

/// What the moving average moves towards the parameters by, after iteration 1, 2, ...: all the way at first, later by
/// 1 - moving_average, before that by Marian's 9 / (iteration + 10), so that the first iterations are soon forgotten.
double average_rate_at(const TrainSettings& settings, int64_t iteration);

/// What AdamW reads of an iteration (1, 2, ...), see shaders/adamw: the learning rate, its bias corrections and, where
/// the loss is scaled, 1 / scale.
std::vector<float> adamw_schedule(const TrainSettings& settings, int64_t iteration, double scale);

}  // namespace vkformer
