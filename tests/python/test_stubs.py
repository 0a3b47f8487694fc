import ast
import pathlib
import re

import vkformer
from common import Case

STUB = pathlib.Path(vkformer.__file__).with_name("__init__.pyi")


def parameters_of(function):
    """Names and defaults of a function's parameters in the stub, without self and annotations."""
    arguments = function.args
    names = [argument.arg for argument in arguments.args if argument.arg != "self"]
    names += [argument.arg for argument in arguments.kwonlyargs]
    return names, arguments.kwarg is not None


def parameters_said(doc):
    """The same in the first line of a function's doc, which says what it takes."""
    line = doc.split("\n", 1)[0]
    inner = line[line.index("(") + 1:line.rindex(") ->")]
    inner = re.sub(r"\[[^\]]*\]", "", inner)
    names = [re.match(r"\*{0,2}\w*", part.strip()).group() for part in inner.split(",")]
    return [name for name in names if name and name != "self" and not name.startswith("*")], "**kwargs" in line


class Stubs(Case):
    def test_the_stub_has_what_the_module_has(self):
        tree = ast.parse(STUB.read_text())
        classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        self.assertEqual(set(vkformer.__all__) - {"__version__"}, set(classes) | functions)
        for name in ("Model", "Tokenizer", "Trainer"):
            members = [node for node in classes[name].body if isinstance(node, ast.FunctionDef)]
            public = {member for member in vars(getattr(vkformer, name)) if not member.startswith("_")}
            self.assertEqual(public, {node.name for node in members} - {"__init__"})
            for node in members:
                if any(getattr(decorator, "id", "") in ("property", "overload") for decorator in node.decorator_list):
                    continue
                doc = getattr(getattr(vkformer, name), node.name).__doc__
                self.assertEqual(parameters_of(node), parameters_said(doc), f"{name}.{node.name}")

    def test_all_of_it_has_help(self):
        for name in ("Model", "Tokenizer", "Trainer"):
            self.assertTrue(getattr(vkformer, name).__doc__)
        self.assertIn("num_beams", vkformer.Model.generate.__doc__)
