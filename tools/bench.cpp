// `vkformer bench`: models in llama-bench's table, or one op.

#include "tools/bench.h"

namespace vkformer {

void add_bench(CLI::App& app) {
  auto flags = std::make_shared<BenchFlags>();
  CLI::App* command = app.add_subcommand("bench", "time a model (prompt, generation, training) or, with --op, one op");
  command->add_option("-d,--device", flags->common.device, "device number or part of its name");
  command->add_flag("-q,--quiet", flags->common.quiet, "results only");
  command->add_option("-m,--model", flags->model,
                      "model folder, config.json, or a GPT-2 shape LAYERSxWIDTHxHEADS[:VOCABULARY[:CONTEXT]]; weights are random")
      ->capture_default_str();
  command->add_option("-p,--prompt", flags->prompts, "prompt lengths to time; 0: none")->capture_default_str();
  command->add_option("-n,--tokens", flags->tokens, "numbers of generated tokens to time; 0: none")->capture_default_str();
  command->add_option("-b,--batch", flags->batch, "sequences of a training step; 0: no training")->capture_default_str();
  command->add_option("-r,--repetitions", flags->repetitions, "timed runs")->check(CLI::Range(1, 100000))->capture_default_str();
  command->add_option("-o,--output", flags->output, "md or json")->check(CLI::IsMember({"md", "json"}))->capture_default_str();
  command->add_option("--op", flags->op, "time this op instead of a model");
  command->add_option("--input", flags->inputs, "with --op: shape of an input, e.g. 8x256x64, 12x64:i32:0:64 or '-' (absent)");
  command->add_option("--attr", flags->attributes, "with --op: an attribute, name=number");
  command->add_option("--candidate", flags->candidate, "with --op: only this kernel (default: all that are legal)");
  command->callback([flags] { flags->op.empty() ? bench_model(*flags) : bench_op(*flags); });
}

}  // namespace vkformer
