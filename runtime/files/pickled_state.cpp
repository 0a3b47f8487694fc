#include "runtime/files/pickled_state.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>

#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {
namespace {

/// Of a model with 10,000 tensors about half a million are needed.
constexpr size_t most_values = size_t{1} << 21, most_bytes = size_t{1} << 26, most_dimensions = 64;

/// What a pickle may name. All of it is known by what a state dict means, none of it is called.
enum class PickledGlobal : uint8_t { ordered_dict, rebuild_tensor, rebuild_parameter, storage };

struct KnownGlobal {
  std::string_view module, name;
  PickledGlobal what;
  FileDType dtype = FileDType::f32;  ///< of a storage
};
constexpr KnownGlobal known_globals[] = {{"collections", "OrderedDict", PickledGlobal::ordered_dict},
                                         {"torch._utils", "_rebuild_tensor_v2", PickledGlobal::rebuild_tensor},
                                         {"torch._utils", "_rebuild_parameter", PickledGlobal::rebuild_parameter},
                                         {"torch", "FloatStorage", PickledGlobal::storage, FileDType::f32},
                                         {"torch", "HalfStorage", PickledGlobal::storage, FileDType::f16},
                                         {"torch", "BFloat16Storage", PickledGlobal::storage, FileDType::bf16},
                                         {"torch", "DoubleStorage", PickledGlobal::storage, FileDType::f64},
                                         {"torch", "LongStorage", PickledGlobal::storage, FileDType::i64},
                                         {"torch", "IntStorage", PickledGlobal::storage, FileDType::i32},
                                         {"torch", "ShortStorage", PickledGlobal::storage, FileDType::i16},
                                         {"torch", "CharStorage", PickledGlobal::storage, FileDType::i8},
                                         {"torch", "ByteStorage", PickledGlobal::storage, FileDType::u8},
                                         {"torch", "BoolStorage", PickledGlobal::storage, FileDType::boolean}};

/// A value on the stack. Lists, tuples and dictionaries (keys and values in turn) hold others.
struct PickledValue {
  enum class Kind : uint8_t { none, boolean, integer, real, text, tuple, list, dict, global, storage, tensor };
  Kind kind = Kind::none;
  int64_t integer = 0;
  std::string_view text = {};  ///< in the pickle
  std::vector<const PickledValue*> items = {};
  const KnownGlobal* global = nullptr;  ///< of a storage: that of its type
};
using PickledKind = PickledValue::Kind;

/// The machine that pickle's instructions are for, without those that make anything else.
class Unpickler {
 public:
  Unpickler(std::span<const std::byte> pickle, const std::string& name, size_t begin = 0)
      : pickle_(reinterpret_cast<const char*>(pickle.data()), pickle.size()), name_(name), next_(begin) {}

  /// The next value, behind which others may follow.
  const PickledValue& run() {
    stack_.clear();
    marks_.clear();
    memo_.clear();
    for (;;) {
      at_ = next_;
      const auto code = static_cast<uint8_t>(take(1)[0]);
      if (code == '.') return *pop();
      step(code);
    }
  }

  size_t position() const { return next_; }

  template <class... Args>
  void refuse_unless(bool holds, CheckFormat<std::type_identity_t<Args>...> what, Args&&... args) const {
    if (!holds)
      fail(
          "{}, byte {} of its pickle: {}; only a model's state dict is read, and nothing was run: save it as "
          "safetensors",
          name_, at_, fmt::format(what.text, std::forward<Args>(args)...));
  }

 private:
  std::string_view take(uint64_t count) {
    refuse_unless(count <= pickle_.size() - next_, "it ends too early");
    refuse_unless(count <= most_bytes - next_, "it is too long for a state dict");
    const std::string_view part = pickle_.substr(next_, count);
    next_ += count;
    return part;
  }
  template <class Number>
  Number number() {
    Number value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view line() {
    const size_t end = pickle_.find('\n', next_);
    refuse_unless(end != pickle_.npos, "it ends too early");
    const std::string_view text = take(end - next_);
    take(1);
    return text;
  }
  /// A whole number of up to eight bytes.
  int64_t long_integer() {
    const std::string_view bytes = take(static_cast<uint8_t>(take(1)[0]));
    refuse_unless(bytes.size() <= 8, "a number of {} bytes", bytes.size());
    uint64_t value = !bytes.empty() && (bytes.back() & 0x80) ? UINT64_MAX : 0;
    for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[i]);
    return static_cast<int64_t>(value);
  }

  void push(PickledValue value) {
    refuse_unless(values_.size() < most_values, "it has more than {} values", most_values);
    push(&values_.emplace_back(std::move(value)));
  }
  void push(PickledValue* value) {
    refuse_unless(stack_.size() < most_values, "it has more than {} values", most_values);
    stack_.push_back(value);
  }
  void push_text(std::string_view text) { push({.kind = PickledKind::text, .text = text}); }
  void push_integer(int64_t integer) { push({.kind = PickledKind::integer, .integer = integer}); }

  PickledValue* pop() {
    PickledValue* value = top();
    stack_.pop_back();
    return value;
  }
  PickledValue* top() const {
    refuse_unless(stack_.size() > (marks_.empty() ? 0 : marks_.back()), "an instruction lacks its value");
    return stack_.back();
  }
  PickledValue* top(PickledKind kind, const char* what) const {
    refuse_unless(top()->kind == kind, "an instruction for {} finds something else", what);
    return stack_.back();
  }
  /// Everything above the last mark, which goes with it.
  std::vector<const PickledValue*> pop_marked() {
    refuse_unless(!marks_.empty(), "an instruction lacks its mark");
    std::vector<const PickledValue*> items(stack_.begin() + static_cast<ptrdiff_t>(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return items;
  }
  std::vector<const PickledValue*> pop_last(size_t count) {
    std::vector<const PickledValue*> items(count);
    for (size_t i = count; i-- > 0;) items[i] = pop();
    return items;
  }
  void push_tuple(std::vector<const PickledValue*> items) {
    push({.kind = PickledKind::tuple, .items = std::move(items)});
  }

  void append(PickledValue* to, const std::vector<const PickledValue*>& items) {
    contained_ += items.size();
    refuse_unless(contained_ <= most_values, "it has more than {} values", most_values);
    to->items.insert(to->items.end(), items.begin(), items.end());
  }
  void set_items(const std::vector<const PickledValue*>& items) {
    refuse_unless(items.size() % 2 == 0, "a key without its value");
    append(top(PickledKind::dict, "a dictionary"), items);
  }

  void remember(uint64_t place) {
    PickledValue* value = top();
    memo_[place] = value;
    refuse_unless(memo_.size() <= most_values, "it remembers more than {} values", most_values);
  }
  void recall(uint64_t place) {
    const auto known = memo_.find(place);
    refuse_unless(known != memo_.end(), "it wants a value that it never had");
    push(known->second);
  }

  void push_global(std::string_view module, std::string_view name) {
    const auto* known = std::ranges::find_if(
        known_globals, [&](const KnownGlobal& global) { return global.module == module && global.name == name; });
    refuse_unless(known != std::end(known_globals), "it names {}.{}", printable(module, 60), printable(name, 60));
    push({.kind = PickledKind::global, .global = known});
  }

  /// ("storage", torch.FloatStorage, "0", "cpu", elements), in older files with what it is a part of behind that:
  /// nothing.
  void push_storage() {
    const PickledValue* id = pop();
    const auto& items = id->items;
    const bool storage = id->kind == PickledKind::tuple && (items.size() == 5 || items.size() == 6) &&
                         items[0]->kind == PickledKind::text && items[0]->text == "storage" &&
                         items[1]->kind == PickledKind::global && items[1]->global->what == PickledGlobal::storage &&
                         items[2]->kind == PickledKind::text && items[4]->kind == PickledKind::integer &&
                         items[4]->integer >= 0 && (items.size() == 5 || items[5]->kind == PickledKind::none);
    refuse_unless(storage, "it refers to something outside that is no storage of a tensor");
    push({.kind = PickledKind::storage,
          .integer = id->items[4]->integer,
          .text = id->items[2]->text,
          .global = id->items[1]->global});
  }

  /// What a call would return.
  void call() {
    const PickledValue* arguments = pop();
    const PickledValue* callee = pop();
    refuse_unless(callee->kind == PickledKind::global && arguments->kind == PickledKind::tuple,
                  "it calls what is no function");
    const auto& items = arguments->items;
    switch (callee->global->what) {
      case PickledGlobal::ordered_dict:
        refuse_unless(items.empty(), "an OrderedDict is made of something");
        return push({.kind = PickledKind::dict});
      case PickledGlobal::rebuild_tensor: {
        // Storage, first element, shape, strides; then gradients and hooks, which are nothing to inference.
        const bool tensor = items.size() >= 4 && items[0]->kind == PickledKind::storage &&
                            items[1]->kind == PickledKind::integer && items[2]->kind == PickledKind::tuple &&
                            items[3]->kind == PickledKind::tuple;
        refuse_unless(tensor, "a tensor is rebuilt of something else than a storage, a place, a shape and strides");
        return push({.kind = PickledKind::tensor, .items = {items.begin(), items.begin() + 4}});
      }
      case PickledGlobal::rebuild_parameter:
        refuse_unless(!items.empty() && items[0]->kind == PickledKind::tensor, "a parameter is rebuilt of no tensor");
        return push({.kind = PickledKind::tensor, .items = items[0]->items});
      case PickledGlobal::storage: break;
    }
    refuse_unless(false, "it calls {}.{}", callee->global->module, callee->global->name);
  }

  void step(uint8_t code) {
    switch (code) {
      case 0x80: {
        const int protocol = static_cast<uint8_t>(take(1)[0]);
        return refuse_unless(protocol >= 2 && protocol <= 5, "its protocol is {}", protocol);
      }
      case 0x95: take(8); return;  // the length of a frame
      case 'N': return push(PickledValue{});
      case 0x88: return push({.kind = PickledKind::boolean, .integer = 1});
      case 0x89: return push({.kind = PickledKind::boolean});
      case 'K': return push_integer(number<uint8_t>());
      case 'M': return push_integer(number<uint16_t>());
      case 'J': return push_integer(number<int32_t>());
      case 0x8a: return push_integer(long_integer());
      case 'G': take(8); return push({.kind = PickledKind::real});
      case 'X': return push_text(take(number<uint32_t>()));
      case 0x8c: return push_text(take(number<uint8_t>()));
      case 0x8d: return push_text(take(number<uint64_t>()));
      case '(': {
        refuse_unless(marks_.size() < most_values, "it has more than {} marks", most_values);
        return marks_.push_back(stack_.size());
      }
      case ')': return push_tuple({});
      case 't': return push_tuple(pop_marked());
      case 0x85: return push_tuple(pop_last(1));
      case 0x86: return push_tuple(pop_last(2));
      case 0x87: return push_tuple(pop_last(3));
      case ']': return push({.kind = PickledKind::list});
      case 'a': {
        const auto items = pop_last(1);
        return append(top(PickledKind::list, "a list"), items);
      }
      case 'e': {
        const auto items = pop_marked();
        return append(top(PickledKind::list, "a list"), items);
      }
      case '}': return push({.kind = PickledKind::dict});
      case 's': return set_items(pop_last(2));
      case 'u': return set_items(pop_marked());
      case 'q': return remember(number<uint8_t>());
      case 'r': return remember(number<uint32_t>());
      case 0x94: return remember(memo_.size());
      case 'h': return recall(number<uint8_t>());
      case 'j': return recall(number<uint32_t>());
      case 'c': {
        const std::string_view module = line();
        return push_global(module, line());
      }
      case 0x93: {
        const auto names = pop_last(2);
        refuse_unless(names[0]->kind == PickledKind::text && names[1]->kind == PickledKind::text, "a name is no text");
        return push_global(names[0]->text, names[1]->text);
      }
      case 'Q': return push_storage();
      case 'R': return call();
      case 'b': {  // attributes of a dictionary, such as _metadata
        pop();
        top(PickledKind::dict, "attributes");
        return;
      }
      default: refuse_unless(false, "the instruction 0x{:02X}", code);
    }
  }

  std::string_view pickle_;
  const std::string& name_;
  size_t at_ = 0, next_ = 0;         ///< of the instruction, and behind what was read
  std::deque<PickledValue> values_;  ///< all that were made: they stay in their place
  std::vector<PickledValue*> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, PickledValue*> memo_;
  size_t contained_ = 0;
};

std::vector<int64_t> integers_of(const PickledValue& tuple, const Unpickler& pickle) {
  pickle.refuse_unless(tuple.items.size() <= most_dimensions, "a tensor of {} dimensions", tuple.items.size());
  std::vector<int64_t> integers;
  for (const PickledValue* item : tuple.items) {
    pickle.refuse_unless(item->kind == PickledKind::integer && item->integer >= 0,
                         "a shape or stride is no whole number");
    integers.push_back(item->integer);
  }
  return integers;
}

std::vector<PickledTensor> tensors_of(const PickledValue& state, const Unpickler& pickle) {
  pickle.refuse_unless(state.kind == PickledKind::dict, "it holds no dictionary of tensors");
  std::vector<PickledTensor> tensors;
  for (size_t i = 0; i + 1 < state.items.size(); i += 2) {
    const PickledValue &key = *state.items[i], &value = *state.items[i + 1];
    if (value.kind == PickledKind::dict)
      pickle.refuse_unless(false,
                           "it holds dictionaries, as {}; a training's checkpoint is no model, its state dict is",
                           key.kind == PickledKind::text ? in_quotes(key.text) : std::string("one"));
    if (value.kind != PickledKind::tensor) continue;
    pickle.refuse_unless(key.kind == PickledKind::text && is_utf8(key.text), "a tensor's name is no text");
    const PickledValue& storage = *value.items[0];
    PickledTensor tensor{.name = std::string(key.text),
                         .dtype = storage.global->dtype,
                         .storage = std::string(storage.text),
                         .storage_elements = storage.integer,
                         .first = value.items[1]->integer,
                         .shape = integers_of(*value.items[2], pickle),
                         .strides = integers_of(*value.items[3], pickle)};
    pickle.refuse_unless(tensor.shape.size() == tensor.strides.size() && tensor.first >= 0,
                         "tensor {} has a shape of {} dimensions and strides of {}", in_quotes(tensor.name, 120),
                         tensor.shape.size(), tensor.strides.size());
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

/// A pickle of the number by which older files begin, and one of their version.
constexpr std::string_view older_start("\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8P\x19.\x80\x02M\xe9\x03.", 21);

}  // namespace

std::vector<PickledTensor> read_state_dict(std::span<const std::byte> bytes, const std::string& name) {
  Unpickler pickle(bytes, name);
  return tensors_of(pickle.run(), pickle);
}

bool is_older_state(std::span<const std::byte> file) {
  return file.size() >= older_start.size() && std::memcmp(file.data(), older_start.data(), older_start.size()) == 0;
}

OlderState read_older_state(std::span<const std::byte> file, const std::string& name) {
  Unpickler pickle(file, name, older_start.size());
  const PickledValue& machine = pickle.run();
  for (size_t i = 0; i + 1 < machine.items.size(); i += 2)
    if (machine.kind == PickledKind::dict && machine.items[i]->text == "little_endian")
      pickle.refuse_unless(machine.items[i + 1]->integer == 1, "its numbers are big-endian");
  OlderState older{.tensors = tensors_of(pickle.run(), pickle)};
  const PickledValue& keys = pickle.run();
  pickle.refuse_unless(keys.kind == PickledKind::list, "its storages have no list of keys");
  for (const PickledValue* key : keys.items) {
    pickle.refuse_unless(key->kind == PickledKind::text, "the key of a storage is no text");
    older.storages.emplace_back(key->text);
  }
  older.length = pickle.position();
  return older;
}

}  // namespace vkformer
