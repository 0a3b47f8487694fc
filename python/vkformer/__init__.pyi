from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path as _PurePath
from typing import Any, Union

import numpy as np
import numpy.typing as npt

__version__: str

_Path = Union[str, PathLike[str]]
_Ids = Union[Sequence[int], npt.NDArray[np.integer[Any]]]
_IdRows = Union[_Ids, Sequence[_Ids]]
_Messages = Sequence[Mapping[str, Any]]
_Batch = dict[str, _IdRows]

class Error(RuntimeError): ...
class DeviceLost(Error): ...

def devices() -> list[dict[str, Any]]: ...

class Tokenizer:
    def __init__(self, path: _Path, *, language: str = "") -> None: ...
    @property
    def vocabulary_size(self) -> int: ...
    def encode(self, text: str, *, special_tokens: bool = True) -> npt.NDArray[np.int32]: ...
    def decode(self, ids: _Ids, *, special_tokens: bool = False) -> str: ...
    def tokens(self, ids: _Ids) -> list[str]: ...
    def id_of(self, token: str) -> int | None: ...
    def apply_chat_template(
        self,
        messages: _Messages,
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = True,
        **variables: Any,
    ) -> str: ...

class Model:
    def __init__(self, path: _Path, *, device: str | int = "", dtype: str = "", adapter: _Path = "", profile: bool = False) -> None: ...
    @property
    def family(self) -> str: ...
    @property
    def context(self) -> int: ...
    @property
    def vocabulary_size(self) -> int: ...
    @property
    def device(self) -> str: ...
    @property
    def path(self) -> _PurePath | None: ...
    @property
    def config(self) -> dict[str, Any]: ...
    @property
    def labels(self) -> list[str]: ...
    @property
    def parameters(self) -> dict[str, tuple[int, ...]]: ...
    def parameter(self, name: str) -> npt.NDArray[np.float32]: ...
    def set_parameter(self, name: str, values: npt.ArrayLike) -> None: ...
    def timings(self) -> list[dict[str, Any]]: ...
    def logits(
        self,
        input_ids: _IdRows,
        *,
        attention_mask: _IdRows | None = None,
        token_type_ids: _IdRows | None = None,
        position_ids: _IdRows | None = None,
        decoder_input_ids: _IdRows | None = None,
    ) -> npt.NDArray[np.float32]: ...
    def hidden_states(
        self,
        input_ids: _IdRows,
        *,
        attention_mask: _IdRows | None = None,
        token_type_ids: _IdRows | None = None,
        position_ids: _IdRows | None = None,
        decoder_input_ids: _IdRows | None = None,
    ) -> npt.NDArray[np.float32]: ...
    def attention(self, text: str | _Ids, target: str | _Ids | None = None) -> list[dict[str, Any]]: ...
    def generate(
        self,
        prompts: str | Sequence[str] | _IdRows,
        *,
        special_tokens: bool = True,
        batch_size: int = 8,
        callback: Callable[[str], Any] | None = None,
        **settings: Any,
    ) -> Any: ...
    def chat(
        self,
        messages: _Messages,
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        template_variables: dict[str, Any] = ...,
        callback: Callable[[str], Any] | None = None,
        **settings: Any,
    ) -> Any: ...
    def translate(
        self,
        texts: str | Sequence[str],
        *,
        source_language: str = "",
        target_language: str = "",
        prefix: str = "",
        batch_tokens: int = 2048,
        **settings: Any,
    ) -> Any: ...
    def transcribe(
        self,
        audio: _Path | npt.ArrayLike,
        *,
        language: str = "",
        task: str = "transcribe",
        prompt: str = "",
        times: bool = True,
        words: bool = False,
        beams: int = 5,
    ) -> dict[str, Any]: ...
    def embed(self, texts: Sequence[str], *, query: bool = False, batch_tokens: int = 4096) -> npt.NDArray[np.float32]: ...
    def log_probabilities(self, texts: str | Sequence[str] | _IdRows) -> Any: ...
    def classify(
        self,
        texts: Sequence[str | tuple[str, str]],
        *,
        candidates: Sequence[str] | None = None,
        hypothesis: str = "This example is {}.",
        multi_label: bool = False,
        batch_tokens: int = 4096,
    ) -> npt.NDArray[np.float32]: ...
    def fill(self, texts: str | Sequence[str], *, top: int = 5, batch_tokens: int = 4096) -> Any: ...
    def tag(self, texts: str | Sequence[str | Sequence[str]], *, batch_tokens: int = 4096) -> Any: ...
    def answer(
        self, questions: str | Sequence[str], contexts: str | Sequence[str], *, stride: int = -1, batch_tokens: int = 4096
    ) -> Any: ...

class Trainer:
    def __init__(
        self, model: dict[str, Any] | _Path, *, device: str | int = "", tokenizer: _Path = "", **settings: Any
    ) -> None: ...
    @staticmethod
    def resume(run: _Path, *, device: str | int = "", **changes: Any) -> Trainer: ...
    @property
    def model(self) -> Model: ...
    @property
    def iteration(self) -> int: ...
    @property
    def gradient_norm(self) -> float: ...
    @property
    def learning_rate(self) -> float: ...
    def step(self, batches: _Batch | Sequence[_Batch] | None = None, **arrays: _IdRows) -> float: ...
    def evaluate(self, batch: _Batch | None = None, **arrays: _IdRows) -> float: ...
    def save(self, run: _Path) -> None: ...
    def timings(self) -> list[dict[str, Any]]: ...
