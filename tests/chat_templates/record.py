#!/usr/bin/env python3
"""Records what Jinja makes of tests/fixtures/chat_templates/*.jinja: expected.json beside them. --check compares instead.

Run by hand; needs Python's jinja2 (3.1).
"""
import json
import pathlib
import sys

from environment import make_environment, render

folder = pathlib.Path(__file__).parent.parent / "fixtures" / "chat_templates"

weather = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a \"place\" — now & here",
        "parameters": {
            "type": "object",
            "properties": {
                "place": {"type": "string", "description": "Town, e.g. Zürich"},
                "unit": {"type": "string", "enum": ["°C", "°F"], "default": "°C"},
                "days": {"type": ["integer", "null"], "description": ""},
                "tags": {"type": "array", "items": {"type": "string"}, "nullable": True},
                "area": {
                    "type": "object",
                    "properties": {"x": {"type": "number"}, "y": {"type": "array", "items": {"type": "object"}}},
                    "required": ["x"],
                },
            },
            "required": ["place"],
        },
        "strict": True,
    },
}
clock = {"type": "function", "function": {"name": "clock", "description": "Tells the time", "parameters": {}}}


def said(role, content, **more):
    return {"role": role, "content": content, **more}


def called(name, arguments, id="abcdefghi"):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


one = [said("user", "Hello!")]
turns = [
    said("user", "  What is 2 + 2?\n"),
    said("assistant", "\n4 "),
    said("user", "Und “drei” <b>mal</b> 'drei'? 🙂\n\n\nJa?"),
]
system = [said("system", "You are a pirate.\n/no_think Speak so. "), *turns]
thought = [
    said("user", "Think!"),
    said("assistant", "<think>\nhm\n</think>\n\nDone.\n\nReally."),
    said("user", "Again"),
    said("assistant", "<think>\nhm hm\n</think>\n\nDone."),
]
tool_turns = [
    said("system", "Use tools."),
    said("user", "Weather in Zürich?"),
    said("assistant", None, tool_calls=[called("get_weather", {"place": "Zürich", "n": 1.5, "deep": {"a": [1, None, True]}})]),
    said("tool", "{\"temp\": 21}", tool_call_id="abcdefghi", name="get_weather"),
    said("assistant", "21 °C."),
    said("user", "And the time?"),
    said("assistant", "Let me see.", tool_calls=[called("clock", {}, "123456789")]),
    said("tool", "12:00", tool_call_id="123456789", name="clock"),
]
parts = [
    said("system", [{"type": "text", "text": "Be kind."}]),
    said("user", [{"type": "image"}, {"type": "text", "text": " What is it? "}]),
]
documents = [{"title": "A", "text": "First."}, {"title": "B", "text": "Second\nline."}]

conversations = {
    "one": {"messages": one, "add_generation_prompt": True},
    "one_answered": {"messages": [*one, said("assistant", "Hi.")]},
    "turns": {"messages": turns, "add_generation_prompt": True},
    "system": {"messages": system, "add_generation_prompt": True},
    "system_only": {"messages": system[:1]},
    "thought": {"messages": thought},
    "no_thinking": {"messages": turns, "add_generation_prompt": True, "variables": {"enable_thinking": False}},
    "order": {"messages": [*turns, said("user", "twice")]},
    "tools": {"messages": turns, "tools": [weather, clock], "add_generation_prompt": True},
    "tools_in_system": {
        "messages": system,
        "tools": [weather],
        "add_generation_prompt": True,
        "variables": {"tools_in_user_message": False, "builtin_tools": ["code_interpreter", "search"]},
    },
    "tool_turns": {"messages": tool_turns, "tools": [weather, clock], "add_generation_prompt": True},
    "tool_turns_done": {"messages": tool_turns[:6], "tools": [weather]},
    "parts": {"messages": parts, "add_generation_prompt": True},
    "documents": {"messages": one, "documents": documents, "variables": {"controls": {"length": "short"}}},
    "nothing": {"messages": [], "add_generation_prompt": True},
}
tokens = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "</s>"}


def expected(environment, template, case):
    """The text, or None where Jinja raises an exception."""
    case = {**case, "variables": {**tokens, **case.get("variables", {})}}
    try:
        return render(environment, template, case)
    except Exception:
        return None


def main():
    environment = make_environment()
    rendered = {
        path.stem: {name: expected(environment, path.read_text(), case) for name, case in conversations.items()}
        for path in sorted(folder.glob("*.jinja"))
    }
    content = {"tokens": tokens, "conversations": conversations, "rendered": rendered}
    text = json.dumps(content, ensure_ascii=False, indent=1) + "\n"
    path = folder / "expected.json"
    if "--check" in sys.argv[1:]:
        sys.exit(0 if path.read_text() == text else f"{path} is not what Jinja gives")
    path.write_text(text)
    refused = sum(text is None for cases in rendered.values() for text in cases.values())
    print(f"{len(rendered)} templates, {len(conversations)} conversations, {refused} refused")


if __name__ == "__main__":
    main()
