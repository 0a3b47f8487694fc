#include "runtime/conform/bug_kit.h"

#include <cstring>
#include <map>

#include "runtime/conform/checks.h"
#include "runtime/conform/compare.h"
#include "runtime/conform/simpler_cases.h"
#include "runtime/files/atomic_file.h"

namespace vkformer {

namespace {

struct Chosen {
  const Op* op = nullptr;
  Case c;
  std::string kernel;
  ConformResult result;
};

bool fails(const ConformResult& result) { return result.verdict == ConformResult::Verdict::failed; }

/// The first check that fails, or the first.
Chosen choose(Backend& backend, const ConformOptions& options) {
  Chosen chosen;
  for_each_case(options, [&](const Op& op, const Case& c) {
    if (fails(chosen.result)) return;
    for (std::string_view kernel : kernels_of(op, c, backend.facts(), options)) {
      const ConformResult result = check_forward(backend, op, c, kernel);
      if (chosen.op && !fails(result)) continue;
      chosen = {&op, c, std::string(kernel), result};
      if (fails(result)) return;
    }
  });
  check(chosen.op != nullptr, "no case of '{}' that matches '{}' has a kernel here", options.op, options.pattern);
  return chosen;
}

/// Whether the kernel can run the case at all.
bool possible(Backend& backend, const Op& op, const Case& c, const std::string& kernel) {
  try {
    const Graph graph = forward_graph(op, c);
    const auto kernels =
        op.candidates ? op.candidates(graph.nodes().front(), backend.facts()) : std::vector<std::string_view>{""};
    return std::ranges::count(kernels, kernel) > 0 && !backend.image(graph, {.candidate = kernel}).commands.empty();
  } catch (const Error&) {
    return false;
  }
}

void shrink(Backend& backend, Chosen& chosen) {
  constexpr int most_tries = 400;
  for (int tries = 0; tries < most_tries;) {
    bool smaller = false;
    for (const Case& c : simpler_cases(chosen.c)) {
      if (++tries > most_tries) return;
      if (!possible(backend, *chosen.op, c, chosen.kernel)) continue;
      const ConformResult result = check_forward(backend, *chosen.op, c, chosen.kernel);
      if (!fails(result)) continue;
      chosen.c = c;
      chosen.result = result;
      smaller = true;
      break;
    }
    if (!smaller) return;
  }
}

/// Takes the inputs of a program as they lie in its step buffer.
class StepBytes : public Program {
 public:
  StepBytes(Graph graph, const MemoryPlan& plan)
      : Program(std::move(graph)), plan_(plan), bytes_(static_cast<size_t>(plan.step_bytes)) {}
  void run() override { fail("these are only the inputs of a program"); }
  const MemoryPlan& plan() const override { return plan_; }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 protected:
  void write_bytes(Value input, std::span<const std::byte> data) override {
    const Place& place = plan_.values[static_cast<size_t>(input.id)];
    std::memcpy(bytes_.data() + place.offset, data.data(), data.size());
  }
  void read_bytes(Value, std::span<std::byte>) const override { fail("these are only the inputs of a program"); }

 private:
  const MemoryPlan& plan_;
  std::vector<std::byte> bytes_;
};

template <class T>
void write_values(const std::filesystem::path& file, const std::vector<T>& values) {
  write_file_atomically(file, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
}

/// The kit's buffers in the order of case.h: the blocks of temporaries, inputs, outputs.
std::vector<ImageBuffer> buffers_of(const ProgramImage& image) {
  std::vector<ImageBuffer> buffers = image.arena;
  buffers.push_back(image.step);
  buffers.push_back(image.readback);
  return buffers;
}

/// Number of the buffer that an address lies in; -1: none, it is no address.
int buffer_of(const std::vector<ImageBuffer>& buffers, uint64_t address) {
  for (size_t i = 0; i < buffers.size(); ++i)
    if (address >= buffers[i].address && address - buffers[i].address < static_cast<uint64_t>(buffers[i].bytes))
      return static_cast<int>(i);
  return -1;
}

/// "{1, 64, 4096}": a region as buffer, offset and bytes.
std::string region_text(const std::vector<ImageBuffer>& buffers, const Region& region) {
  const int buffer = buffer_of(buffers, region.address);
  if (buffer < 0) return "{-1, 0, 0}";
  return fmt::format("{{{}, {}, {}}}", buffer, region.address - buffers[static_cast<size_t>(buffer)].address,
                     region.bytes);
}

/// The arguments' words, and which pairs of words are addresses.
std::pair<std::string, std::string> arguments_text(const std::vector<ImageBuffer>& buffers, const Command& command) {
  std::string words, addresses;
  for (uint32_t at = 0; at + 4 <= command.args_size; at += 4) {
    uint32_t word = 0;
    uint64_t address = 0;
    std::memcpy(&word, command.args.data() + at, 4);
    words += fmt::format("{}0x{:08x}", at ? ", " : "", word);
    if (at % 8 != 0 || at + 8 > command.args_size) continue;
    std::memcpy(&address, command.args.data() + at, 8);
    if (buffer_of(buffers, address) >= 0)
      addresses += fmt::format("{}{{{}, {}}}", addresses.empty() ? "" : ", ", at, region_text(buffers, {address, 0}));
  }
  return {words, addresses};
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

/// Names the case and its buffers.
std::string head_text(const ConformResult& result, const std::vector<ImageBuffer>& buffers) {
  std::string text = fmt::format("// {} {}\n// {}\n\n", result.op, result.what,
                                 result.detail.empty() ? "passed where this was written" : result.detail);
  text += fmt::format("const char* const title = {};\n", quoted(result.op + " " + result.what));
  text += "const uint64_t buffer_bytes[] = {";
  for (const ImageBuffer& buffer : buffers) text += fmt::format("{}, ", std::max<int64_t>(buffer.bytes, 16));
  return text + fmt::format("}};\nconst int step_buffer = {}, readback_buffer = {};\n", buffers.size() - 2,
                            buffers.size() - 1);
}

/// Writes the shaders, too.
std::string commands_text(const std::filesystem::path& folder, const ProgramImage& image,
                          const std::vector<ImageBuffer>& buffers) {
  std::map<std::string, size_t> shaders;
  std::string text = "const std::vector<Command> commands = {\n";
  for (const ImageCommand& each : image.commands) {
    const Command& command = each.command;
    const auto [words, addresses] = arguments_text(buffers, command);
    std::string shader;
    if (command.kind == Command::Kind::dispatch) {
      const auto [known, added] = shaders.try_emplace(each.kernel + "/" + each.variant, shaders.size());
      shader = fmt::format("shader-{}.spv", known->second);
      if (added) write_values(folder / shader, each.words);
    }
    constexpr const char* kinds[] = {"dispatch", "copy", "fill"};
    text += fmt::format(
        "  // {}\n  {{Kind::{}, {}, \"{}\", {{{}}}, {}, {{{}, {}, {}}}, {{{}}}, {{{}}}, {}, {}, 0x{:x}}},\n",
        each.kernel.empty() ? "a transfer" : each.kernel + " (" + each.variant + ")",
        kinds[static_cast<size_t>(command.kind)], command.barrier_before, shader,
        fmt::format("{}", fmt::join(each.constants, ", ")), each.subgroup_size, command.groups[0], command.groups[1],
        command.groups[2], words, addresses, region_text(buffers, command.source), region_text(buffers, command.target),
        command.pattern);
  }
  return text + "};\n";
}

/// Writes what is expected, too.
std::string outputs_text(const std::filesystem::path& folder, const Case& c, const ProgramImage& image,
                         const std::vector<HostTensor>& expected) {
  std::string text = "const std::vector<Output> outputs = {\n";
  for (size_t o = 0; o < expected.size(); ++o) {
    const DType dtype = expected[o].type.dtype;
    const std::string file = fmt::format("expected-{}.bin", o);
    const auto& data = expected[o].data;
    if (dtype == DType::i32)
      write_values(folder / file, std::vector<int32_t>(data.begin(), data.end()));
    else
      write_values(folder / file, std::vector<float>(data.begin(), data.end()));
    const std::string limits_file = fmt::format("tolerance-{}.bin", o);
    const std::vector<double> limits = row_limits(expected[o], tolerance(dtype, c.reduction));
    write_values(folder / limits_file, std::vector<float>(limits.begin(), limits.end()));
    text += fmt::format("  {{{}, {}, {}, Type::{}, \"{}\", \"{}\"}},\n", image.plan.readback[o].offset, data.size(),
                        limits.size(), name_of(dtype), file, limits_file);
  }
  return text + "};\n";
}

}  // namespace

ConformResult write_bug_kit(Backend& backend, const ConformOptions& options, const std::filesystem::path& folder) {
  Chosen chosen = choose(backend, options);
  if (fails(chosen.result)) shrink(backend, chosen);
  const Graph graph = forward_graph(*chosen.op, chosen.c);
  const ProgramImage image = backend.image(graph, {.candidate = chosen.kernel});
  const std::vector<ImageBuffer> buffers = buffers_of(image);
  const auto inputs = random_inputs(*chosen.op, chosen.c);
  StepBytes step(graph, image.plan);
  write_inputs(step, chosen.c, inputs);
  write_values(folder / "step.bin", step.bytes());

  const std::string text = head_text(chosen.result, buffers) + commands_text(folder, image, buffers) +
                           outputs_text(folder, chosen.c, image, run_reference(graph.nodes().front(), inputs));
  write_file_atomically(folder / "case.h", text);
  return chosen.result;
}

}  // namespace vkformer
