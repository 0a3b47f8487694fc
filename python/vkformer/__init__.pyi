from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, Union, overload

import numpy as np
import numpy.typing as npt

__version__: str

Path = Union[str, PathLike[str]]
Ids = Union[Sequence[int], npt.NDArray[np.integer[Any]]]
IdRows = Union[Ids, Sequence[Ids]]
Messages = Sequence[Mapping[str, Any]]
Batch = Mapping[str, IdRows]

class Error(RuntimeError): ...
class DeviceLost(Error): ...

def devices() -> list[dict[str, Any]]: ...

class Tokenizer:
    def __init__(self, path: Path, *, language: str = "") -> None: ...
    @property
    def vocabulary_size(self) -> int: ...
    def encode(self, text: str, *, special_tokens: bool = True) -> npt.NDArray[np.int32]: ...
    def decode(self, ids: Ids, *, special_tokens: bool = False) -> str: ...
    def tokens(self, ids: Ids) -> list[str]: ...
    def id_of(self, token: str) -> int | None: ...
    def apply_chat_template(
        self,
        messages: Messages,
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = True,
        **variables: Any,
    ) -> str: ...

class Model:
    def __init__(self, path: Path, *, device: str = "", dtype: str = "", adapter: Path = "", profile: bool = False) -> None: ...
    @property
    def family(self) -> str: ...
    @property
    def context(self) -> int: ...
    @property
    def vocabulary_size(self) -> int: ...
    @property
    def device(self) -> str: ...
    @property
    def path(self) -> PathLike[str]: ...
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
        input_ids: IdRows,
        *,
        attention_mask: IdRows | None = None,
        token_type_ids: IdRows | None = None,
        position_ids: IdRows | None = None,
        decoder_input_ids: IdRows | None = None,
    ) -> npt.NDArray[np.float32]: ...
    def hidden_states(
        self,
        input_ids: IdRows,
        *,
        attention_mask: IdRows | None = None,
        token_type_ids: IdRows | None = None,
        position_ids: IdRows | None = None,
        decoder_input_ids: IdRows | None = None,
    ) -> npt.NDArray[np.float32]: ...
    def attention(self, text: str | Ids, target: str | Ids | None = None) -> list[dict[str, Any]]: ...
    @overload
    def generate(
        self,
        prompts: str,
        *,
        special_tokens: bool = True,
        batch_size: int = 8,
        callback: Callable[[str], Any] | None = None,
        **settings: Any,
    ) -> str: ...
    @overload
    def generate(
        self,
        prompts: Sequence[str] | IdRows,
        *,
        special_tokens: bool = True,
        batch_size: int = 8,
        callback: None = None,
        **settings: Any,
    ) -> Any: ...
    def chat(
        self,
        messages: Messages,
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        callback: Callable[[str], Any] | None = None,
        **settings: Any,
    ) -> str: ...
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
    def embed(self, texts: Sequence[str], *, query: bool = False, batch_tokens: int = 4096) -> npt.NDArray[np.float32]: ...
    def classify(
        self, texts: Sequence[str | tuple[str, str]], *, batch_tokens: int = 4096
    ) -> npt.NDArray[np.float32]: ...

class Trainer:
    def __init__(
        self, model: Mapping[str, Any] | Path, *, device: str = "", tokenizer: Path = "", **settings: Any
    ) -> None: ...
    @staticmethod
    def resume(run: Path, *, device: str = "", **changes: Any) -> Trainer: ...
    @property
    def model(self) -> Model: ...
    @property
    def iteration(self) -> int: ...
    @property
    def gradient_norm(self) -> float: ...
    @property
    def learning_rate(self) -> float: ...
    def step(self, batches: Batch | Sequence[Batch] | None = None, **arrays: IdRows) -> float: ...
    def evaluate(self, **arrays: IdRows) -> float: ...
    def save(self, run: Path) -> None: ...
    def timings(self) -> list[dict[str, Any]]: ...
