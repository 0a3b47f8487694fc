#include "models/chat/jinja/evaluator.h"

#include <algorithm>

#include "models/chat/jinja/operations.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer::jinja {

namespace {

/// A scope as long as this object lives.
class Within {
 public:
  Within(std::shared_ptr<Scope>& scope, std::shared_ptr<Scope> around) : scope_(scope), before_(scope) {
    scope_ = std::make_shared<Scope>(Scope{std::move(around), {}});
  }
  explicit Within(std::shared_ptr<Scope>& scope) : Within(scope, scope) {}
  ~Within() { scope_ = before_; }
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;

 private:
  std::shared_ptr<Scope>& scope_;
  std::shared_ptr<Scope> before_;
};

}  // namespace

Evaluator::Evaluator(Budget& budget, Variables variables) : budget_(budget), scope_(std::make_shared<Scope>()) {
  add_functions();
  for (auto& [name, value] : variables) scope_->variables[name] = std::move(value);
  scope_ = std::make_shared<Scope>(Scope{scope_, {}});
}

Evaluator::~Evaluator() {
  for (const auto& each : namespaces_) each->attributes.clear();
}

void Evaluator::run(const Body& body) { execute(body); }

Evaluator::Flow Evaluator::execute(const Body& body) {
  const Budget::Level level(budget_);
  for (const Statement& statement : body) {
    budget_.step();
    line_ = statement.line;
    const Flow flow = std::visit([&](const auto& form) { return execute(form); }, statement.form);
    if (flow != Flow::on) return flow;
  }
  return Flow::on;
}

std::string Evaluator::caught(const Body& body) {
  std::string text;
  std::string* before = std::exchange(target_, &text);
  const Within inner(scope_);
  execute(body);
  target_ = before;
  return text;
}

void Evaluator::write(std::string_view text) {
  budget_.make(text.size());
  *target_ += text;
}

Evaluator::Flow Evaluator::execute(const Data& data) {
  write(data.text);
  return Flow::on;
}

Evaluator::Flow Evaluator::execute(const Output& output) {
  const Value value = evaluate(*output.value);
  if (value.is_text())
    write(value.text());
  else
    write(text_of(budget_, value));
  return Flow::on;
}

Evaluator::Flow Evaluator::execute(const If& statement) {
  for (const auto& [test, body] : statement.branches)
    if (truth(evaluate(*test))) return execute(body);
  return execute(statement.otherwise);
}

Evaluator::Flow Evaluator::execute(const For& statement) {
  const Value iterable = evaluate(*statement.iterable);
  check(!iterable.is<std::shared_ptr<const Loop>>(), "a loop can't be iterated over");
  Values items = iterate(budget_, iterable);
  if (statement.condition) {
    Values kept;
    for (Value& item : items) {
      const Within inner(scope_);
      assign(statement.target, item);
      if (truth(evaluate(*statement.condition))) kept.push_back(std::move(item));
    }
    items = std::move(kept);
  }
  Loop loop{.items = std::make_shared<const Values>(std::move(items)),
            .changed = std::make_shared<std::optional<Values>>()};
  loop.extent = extent_of_all(*loop.items);
  bool completed = false;  // Jinja asks for a body that came to its end, not for an item
  for (; loop.index0 < loop.items->size(); ++loop.index0) {
    budget_.make(sizeof(Scope) + sizeof(Loop));
    const Within inner(scope_);
    scope_->variables["loop"] = Value(std::make_shared<const Loop>(loop));
    assign(statement.target, (*loop.items)[loop.index0]);
    const Flow flow = execute(statement.body);
    completed = completed || flow == Flow::on;
    if (flow == Flow::break_loop) break;
  }
  if (completed) return Flow::on;
  const Within inner(scope_);
  return execute(statement.otherwise);
}

Evaluator::Flow Evaluator::execute(const Assign& statement) {
  assign(statement.target, evaluate(*statement.value));
  return Flow::on;
}

Evaluator::Flow Evaluator::execute(const AssignBlock& statement) {
  assign(statement.target, filtered(statement.filters, caught(statement.body)));
  return Flow::on;
}

Evaluator::Flow Evaluator::execute(const Macro& statement) {
  scope_->variables[statement.name] = callable_of(statement);
  return Flow::on;
}

Evaluator::Flow Evaluator::execute(const CallBlock& statement) {
  const Call& form = std::get<Call>(statement.call->form);
  const Value function = evaluate(*form.function);
  Arguments arguments = evaluate(form.arguments);
  arguments.named.emplace_back("caller", callable_of(statement.caller));
  write(text_of(budget_, call(budget_, function, arguments)));
  return Flow::on;
}

Evaluator::Flow Evaluator::execute(const FilterBlock& statement) {
  write(text_of(budget_, filtered(statement.filters, caught(statement.body))));
  return Flow::on;
}

Evaluator::Flow Evaluator::execute(const With& statement) {
  Values values;
  for (const auto& [target, value] : statement.values) values.push_back(evaluate(*value));
  const Within inner(scope_);
  for (size_t i = 0; i < values.size(); ++i) assign(statement.values[i].first, std::move(values[i]));
  return execute(statement.body);
}

Evaluator::Flow Evaluator::execute(const Generation& statement) {
  const Within inner(scope_);
  const size_t begin = target_->size();
  execute(statement.body);
  // Within a macro, nobody knows where the text goes.
  if (target_ == &output_) generated_.push_back({begin, target_->size()});
  return Flow::on;
}

Value Evaluator::filtered(const ExpressionPtr& filters, std::string text) {
  Value value(std::move(text));
  if (!filters) return value;
  std::swap(value, caught_);
  Value result = evaluate(*filters);
  std::swap(value, caught_);
  return result;
}

Value* Evaluator::find(std::string_view name) {
  for (Scope* scope = scope_.get(); scope; scope = scope->around.get()) {
    budget_.step();
    if (const auto found = scope->variables.find(name); found != scope->variables.end()) return &found->second;
  }
  return nullptr;
}

void Evaluator::assign(const Target& target, Value value) {
  if (!target.parts.empty()) {
    Values values = iterate(budget_, value);
    check(values.size() == target.parts.size(), "{} values can't be assigned to {} names", values.size(),
          target.parts.size());
    for (size_t i = 0; i < values.size(); ++i) assign(target.parts[i], std::move(values[i]));
    return;
  }
  budget_.make(sizeof(Value) + target.name.size());
  if (target.attribute.empty()) {
    scope_->variables[target.name] = std::move(value);
    return;
  }
  const Value* object = find(target.name);
  check(object && object->is<std::shared_ptr<Namespace>>(), "{} is no namespace: nothing else has attributes to set",
        in_quotes(target.name));
  object->as<std::shared_ptr<Namespace>>()->attributes[target.attribute] = std::move(value);
}

Value Evaluator::callable_of(const Macro& macro) {
  return Value(std::make_shared<const Callable>(Callable{
      macro.name,
      [this, &macro, around = std::weak_ptr<Scope>(scope_)](const Arguments& arguments) {
        const auto scope = around.lock();
        check(scope != nullptr, "the macro {} is called outside of the block that has it", in_quotes(macro.name));
        return call_macro(macro, scope, arguments);
      },
      {}}));
}

Value Evaluator::call_macro(const Macro& macro, std::shared_ptr<Scope> around, const Arguments& arguments) {
  const std::vector<std::string>& names = macro.signature.names;
  check(arguments.positional.size() <= names.size(), "the macro {} takes {} arguments, not {}", in_quotes(macro.name),
        names.size(), arguments.positional.size());
  const Within inner(scope_, std::move(around));
  auto& variables = scope_->variables;
  for (size_t i = 0; i < arguments.positional.size(); ++i) variables[names[i]] = arguments.positional[i];
  for (const auto& [name, value] : arguments.named) {
    check(name == "caller" || std::ranges::find(names, name) != names.end(), "the macro {} has no argument {}",
          in_quotes(macro.name), in_quotes(name));
    check(!variables.contains(name), "the macro {} has the argument {} twice", in_quotes(macro.name), in_quotes(name));
    variables[name] = value;
  }
  const size_t plain = names.size() - macro.signature.defaults.size();
  for (size_t i = 0; i < names.size(); ++i) {
    if (variables.contains(names[i])) continue;
    Value value = i < plain ? Value::undefined(fmt::format("the parameter {} was not given", in_quotes(names[i])))
                            : evaluate(*macro.signature.defaults[i - plain]);
    variables[names[i]] = std::move(value);
  }
  std::string text;
  std::string* before = std::exchange(target_, &text);
  const int line = line_;
  execute(macro.body);
  line_ = line;
  target_ = before;
  return Value(std::move(text));
}

}  // namespace vkformer::jinja
