"""Transformers on any Vulkan GPU: models, trainings and devices, with numpy's arrays.

    import vkformer
    model = vkformer.Model("FOLDER")                  # or a .gguf, or what `vkformer train` wrote
    print(model.generate("Once upon a time", max_new_tokens=50, temperature=0.8))

docs/python.md of the project says more.
"""

import numpy as _numpy  # noqa: F401: without it nothing works

from ._vkformer import DeviceLost, Error, Model, Tokenizer, Trainer, __version__, devices

__all__ = ["DeviceLost", "Error", "Model", "Tokenizer", "Trainer", "__version__", "devices"]

for _name in __all__:
    if hasattr(globals()[_name], "__module__"):
        globals()[_name].__module__ = __name__
del _name
