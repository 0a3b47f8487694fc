#!/usr/bin/env python3
"""Random templates through Jinja and through vkformer: texts must be equal; what Jinja refuses must be refused.

Run by hand; needs Python's jinja2 (3.1):
    python3 tests/chat_templates/fuzz.py build/release/tests/vkformer_tests --count 10000 --seed 1
"""
import argparse
import collections
import json
import os
import pathlib
import random
import subprocess
import tempfile
import warnings

from environment import make_environment, render
from record import conversations, tokens

NAMES = ["messages", "tools", "bos_token", "x", "y", "ns", "m", "d", "nothing", "loop", "add_generation_prompt"]
KEYS = ["role", "content", "a", "b", "items", "tool_calls", "function", "name", "x"]
TEXTS = ["user", "assistant", "", " a b ", "\\n", "x\\ty", "it's", 'q\\"', "é🙂", "A-b c", "content", "role", "1", "2.5", "<|im_end|>"]
FILTERS = [
    "trim", "upper", "lower", "title", "capitalize", "length", "first", "last", "list", "string", "tojson", "reverse|list", "join",
    "join(', ')", "default('d')", "default('d', true)", "int", "float", "abs", "sort", "unique|list", "items|list", "dictsort",
    "map(attribute='role')|list", "selectattr('role', 'equalto', 'user')|list", "rejectattr('content')|list", "map('upper')|list",
    "select('string')|list", "reject('none')|list", "replace('a', 'b')", "tojson(indent=2)", "indent", "indent(2, true)", "sum", "max",
    "min", "round", "count", "safe", "map(attribute='a', default='z')|join('/')", "trim('a ')", "reverse",
]
TESTS = [
    "defined", "undefined", "none", "string", "mapping", "sequence", "iterable", "number", "integer", "boolean", "true", "false", "float",
    "odd", "even", "in 'user'", "equalto('user')", "eq 1", "ne 'a'", "divisibleby 2", "upper", "lower", "callable", "in ['user', 1]",
    "sameas none", "gt 1", "lt 2",
]
METHODS = [
    "strip()", "lstrip()", "rstrip('a')", "split()", "split('a')", "split(' ', 1)[0]", "upper()", "lower()", "title()", "capitalize()",
    "startswith('u')", "endswith(('t', 'r'))", "replace('a', 'bb')", "items()|list", "keys()|list", "values()|list", "get('role')",
    "get('a', 1)", "splitlines()", "join(['a', 'b'])", "count('a')", "find('a')", "isdigit()", "index('a')", "role", "content", "a", "items",
    "rsplit('a', 1)[-1]", "partition(' ')", "isupper()", "removeprefix('u')",
]
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or"]


class Templates:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, values):
        return self.random.choice(values)

    def some(self, make, most=3):
        return [make() for _ in range(self.random.randrange(most + 1))]

    def literal(self):
        kind = self.random.randrange(8)
        if kind < 3:
            return "'" + self.pick(TEXTS).replace("'", "\\'") + "'"
        if kind < 5:
            return str(self.random.randrange(12))
        return self.pick(["true", "false", "none", "1.5", "0.1", "2e3", "1e16"])

    def expression(self, depth=0):
        kind = self.random.randrange(16)
        inner = lambda: self.expression(depth + 1)
        if depth > 3 or kind < 3:
            return self.literal() if self.random.random() < 0.5 else self.pick(NAMES)
        if kind == 3:
            return "[" + ", ".join(self.some(inner)) + "]"
        if kind == 4:
            return "{" + ", ".join(f"'{key}': {inner()}" for key in self.some(lambda: self.pick(KEYS))) + "}"
        if kind == 5:
            return f"({inner()} {self.pick(OPERATORS)} {inner()})"
        if kind == 6:
            return f"{inner()} {self.pick(OPERATORS)} {inner()}"
        if kind < 9:
            return f"({inner()})|{self.pick(FILTERS)}" if self.random.random() < 0.5 else f"{inner()}|{self.pick(FILTERS)}"
        if kind == 9:
            return f"({inner()} is {self.pick(['', '', 'not '])}{self.pick(TESTS)})"
        if kind == 10:
            return f"({inner()}).{self.pick(METHODS)}"
        if kind == 11:
            return f"({inner()})[{self.pick(['0', '-1', '1', repr(self.pick(KEYS)), inner()])}]"
        if kind == 12:
            bound = lambda: self.pick(["", "", "1", "-1", "2", "-2"])
            return f"({inner()})[{bound()}:{bound()}{self.pick(['', ':' + self.pick(['', '-1', '2'])])}]"
        if kind == 13:
            return f"({inner()} if {inner()} else {inner()})" if self.random.random() < 0.7 else f"({inner()} if {inner()})"
        if kind == 14:
            return self.pick(["not ", "-", "+"]) + inner()
        return self.pick([f"range({self.random.randrange(5)})", f"f({inner()})", "messages[0].content", "messages[-1]['role']", "ns.v",
                          "loop.index", "loop.last", "loop.previtem", "caller()", f"dict(a={inner()})", "tools[0].function|tojson"])

    def open(self):
        return "{%" + self.pick(["", "", "-", "-", "+"]) + " "

    def close(self):
        return " " + self.pick(["", "", "-", "-", "+"]) + "%}"

    def tag(self, text):
        return self.open() + text + self.close()

    def body(self, depth):
        return "".join(self.some(lambda: self.statement(depth + 1), 4))

    def data(self):
        return self.pick(["a", " ", "\n", "\n  ", "  x\n", "{ %", "\t", "}} ", "text\n\n", "#}"])

    def statement(self, depth=0):
        kind = self.random.randrange(18)
        if depth > 3 or kind < 4:
            return self.data()
        if kind < 9:
            return "{{" + self.pick(["", "-"]) + " " + self.expression() + " " + self.pick(["", "-"]) + "}}"
        if kind == 9:
            middle = self.tag("elif " + self.expression()) + self.body(depth) if self.random.random() < 0.3 else ""
            other = self.tag("else") + self.body(depth) if self.random.random() < 0.4 else ""
            return self.tag("if " + self.expression()) + self.body(depth) + middle + other + self.tag("endif")
        if kind in (10, 11):
            target, over = self.pick([("m", "messages"), ("x", self.expression()), ("x, y", "d.items()"), ("k, v", "d|dictsort"), ("i", "range(3)")])
            condition = f" if {self.expression()}" if self.random.random() < 0.2 else ""
            other = self.tag("else") + self.body(depth) if self.random.random() < 0.2 else ""
            leave = self.tag(f"if {self.expression()}") + self.tag(self.pick(["break", "continue"])) + self.tag("endif")
            body = self.body(depth) + (leave if self.random.random() < 0.2 else "") + self.body(depth)
            return self.tag(f"for {target} in {over}{condition}") + body + other + self.tag("endfor")
        if kind == 12:
            return self.tag(f"set {self.pick(['x', 'y', 'ns.v', 'd', 'x, y'])} = {self.expression()}")
        if kind == 13:
            return self.tag(f"set x{self.pick(['', '', ' | trim', ' | upper | trim'])}") + self.body(depth) + self.tag("endset")
        if kind == 14:
            return self.tag(f"macro f(a, b={self.expression()})") + self.body(depth) + self.tag("endmacro")
        if kind == 15:
            return self.tag(f"call f({self.expression()})") + self.body(depth) + self.tag("endcall")
        if kind == 16:
            name = self.pick(["filter upper", "filter trim", "generation", "with x = 1, y = 'z'", "filter replace('a', 'o')"])
            return self.tag(name) + self.body(depth) + self.tag("end" + name.split()[0])
        return self.pick(["{# c #}", "{#- c -#}", "{% raw %}{{ x }}{% endraw %}", "{%- raw -%} y {%- endraw -%}", "{#+ c +#}"])

    def template(self, accepts):
        start = self.tag("set ns = namespace(v=1)") + self.tag("set d = {'a': 1, 'B': 'two', 'items': [3]}")
        start += "{% macro f(a, b=2) %}<{{ a }}{{ b }}{{ caller() if caller }}>{% endmacro %}" if self.random.random() < 0.7 else ""
        for _ in range(self.random.randrange(1, 7)):
            # Most random tags fail: what Jinja refuses stays in one template of ten.
            for _ in range(8):
                tried = start + self.statement()
                if accepts(tried) or self.random.random() < 0.02:
                    start = tried
                    break
        return start


def attempt(environment, template, case):
    """The text, or None and why not."""
    try:
        return render(environment, template, case), ""
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"


def rendered(program, cases):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "cases"
        path.write_text("".join(json.dumps(case) + "\n" for case in cases))
        environment = {**os.environ, "VKFORMER_TEMPLATES": str(path)}
        subprocess.run([program, "[.templates]"], env=environment, check=True, stdout=subprocess.DEVNULL)
        return [json.loads(line) for line in (pathlib.Path(folder) / "cases.out").read_text().splitlines()]


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("program")
    arguments.add_argument("--count", type=int, default=1000)
    arguments.add_argument("--seed", type=int, default=1)
    arguments = arguments.parse_args()
    warnings.simplefilter("ignore")
    templates, environment = Templates(arguments.seed), make_environment()
    tally, wrong = collections.Counter(), 0
    for start in range(0, arguments.count, 1000):
        cases = []
        for _ in range(min(1000, arguments.count - start)):
            case = dict(templates.pick(list(conversations.values())))
            case["variables"] = {**tokens, **case.get("variables", {})}
            cases.append({**case, "template": templates.template(lambda text: attempt(environment, text, case)[0] is not None)})
        for case, ours in zip(cases, rendered(arguments.program, cases), strict=True):
            theirs, reason = attempt(environment, case["template"], case)
            text = ours.get("text")
            if text == theirs:
                tally["equal" if text is not None else "both refuse"] += 1
            elif text is None and ("not supported" in ours["error"] or "no text of use" in ours["error"] or "Undefined" in ours["error"]):
                tally["not supported here"] += 1
            else:
                wrong += 1
                if wrong <= 20:
                    print(f"--- {case['template']!r}\n  here  {text!r} {ours.get('error', '')}\n  Jinja {theirs!r} {reason}")
    print(dict(tally), "wrong", wrong)
    raise SystemExit(wrong > 0)


if __name__ == "__main__":
    main()
