#pragma once
// Calls of tools in answers, in the form that a model's template writes them in.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/chat/chat_template.h"

namespace vkformer {

/// A JSON object with a name and arguments, or a list of them, between two texts. Qwen:
///
///   <tool_call>
///   {"name": "weather", "arguments": {"city": "Bern"}}
///   </tool_call>
///
/// Llama 3: the object alone, all of the answer. Or name, keys and values between tags (Qwen3-Coder, GLM 4.5):
///
///   <tool_call>
///   <function=weather>
///   <parameter=city>
///   Bern
///   </parameter>
///   </function>
///   </tool_call>
///
/// Or the name, and behind some text the arguments as JSON (Mistral since 2025): [TOOL_CALLS]weather[ARGS]{"city":
/// "Bern"}; or at once arguments that are JSON but for what stands around texts and keys (see quoted_calls.h); or a
/// list of calls as Python writes them (see python_calls.h).
struct ToolCallForm {
  /// What stands between the parts of a call in tags, with the white space inside.
  struct Tags {
    std::string name_end, key_begin, key_end, value_end;
    bool operator==(const Tags&) const = default;
  };

  std::string begin, end;                          ///< with the white space inside; "": nothing
  bool list = false;                               ///< of calls, even of one
  std::string arguments;                           ///< the key of them: "arguments", or "parameters"
  std::string name_end = {};                       ///< between the name and JSON arguments; "": the name is in the JSON
  std::optional<Tags> tags = {};                   ///< in place of JSON
  std::string quote = {};                          ///< around texts in arguments that are like JSON; "": they are JSON
  std::string name = "name";                       ///< the key of the name
  bool python = false;                             ///< a list of Python's calls in place of JSON
  std::string around_begin = {}, around_end = {};  ///< tags around all calls of an answer; "": nothing

  bool operator==(const ToolCallForm&) const = default;
};

/// gpt-oss's calls as AnswerText writes them, which it knows by their tokens.
inline const ToolCallForm harmony_call_form{
    .begin = "<|channel|>commentary to=functions.", .end = "<|call|>", .name_end = "<|message|>"};

/// As the template writes a call in a conversation; nothing where it writes none, or in another form.
std::optional<ToolCallForm> find_tool_call_form(const ChatTemplate& chat, const nlohmann::ordered_json& variables);

/// By the tokens of a tokenizer around calls, where the template shows the model tools but none of its calls (SmolLM 3,
/// LFM2, Granite 3, Phi-4-mini); nothing where it shows none, or there are no such tokens.
std::optional<ToolCallForm> known_call_form(const ChatTemplate& chat,
                                            const std::function<std::optional<int32_t>(std::string_view token)>& id_of);

struct ToolCall {
  std::string name;
  std::string arguments;  ///< JSON

  bool operator==(const ToolCall&) const = default;
};

/// Tells calls from the rest of an answer as it comes.
class ToolCallReader {
 public:
  /// For which all of an answer is text.
  ToolCallReader() = default;
  /// `tools`: those of the request, as OpenAI has them. Their schemas say which values between tags are texts.
  explicit ToolCallReader(ToolCallForm form, nlohmann::ordered_json tools = nlohmann::ordered_json::array())
      : form_(std::move(form)), tools_(std::move(tools)) {}

  struct Part {
    std::string text;  ///< that is no call
    std::vector<ToolCall> calls;
  };
  /// What the answer so far has, beyond what was given before. What may be the beginning of a call is held back.
  Part push(std::string_view piece);
  /// The rest of an answer that ends here. What looked like a call but is none is text.
  Part end();

 private:
  void read(bool ended, Part& part);

  std::optional<ToolCallForm> form_;
  nlohmann::ordered_json tools_;
  std::string held_;
  bool any_text_ = false, any_calls_ = false;
};

/// A tool that may be called: its name, and the JSON schema of its arguments.
struct Tool {
  std::string name;
  nlohmann::ordered_json parameters;
};

/// GBNF of an answer that is one call of one of these, or with `several` one and more. Throws Error like
/// gbnf_of_schema(), and for a form whose calls are not JSON alone.
std::string gbnf_of_tool_calls(const ToolCallForm& form, const std::vector<Tool>& tools, bool several);

}  // namespace vkformer
