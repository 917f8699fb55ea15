"""Puts the decoder together from its settings: the one place that knows which classes stand behind the protocols."""

from dataclasses import dataclass
from pathlib import Path

from decoder.config import DecoderConfig, Dtype
from decoder.drafters import Drafters
from decoder.engine import EngineError
from decoder.local_engine import LocalEngine
from decoder.models.catalog import Catalog, CatalogError
from decoder.models.store import ModelStore, ModelStoreError
from decoder.tokenizer import Tokenizer, TokenizerError
from drafting.corpus import Corpus
from drafting.interface import LanguageModel
from drafting.prefix_cache import PrefixCache
from drafting.small_model import VocabularyMismatchError


@dataclass(frozen=True, slots=True)
class Assembly:
    """The parts of one decoder."""

    tokenizer: Tokenizer
    target: PrefixCache
    corpus: Corpus
    drafters: Drafters
    device: str
    dtype: Dtype

    def engine(self, config: DecoderConfig) -> LocalEngine:
        """The engine over these parts."""
        return LocalEngine(self.target, self.tokenizer, self.drafters, prompt_tokens=config.prompt_tokens)


def assemble(config: DecoderConfig) -> Assembly:
    """Loads the models; takes seconds. Raises EngineError with the remedy where that cannot be done."""
    try:
        return _assemble(config)
    except (CatalogError, ModelStoreError, TokenizerError, VocabularyMismatchError) as error:
        raise EngineError(str(error)) from error


def model_folder(name: str) -> Path:
    """Where a model lies on this machine. Raises CatalogError or ModelStoreError where it is unknown or not pulled."""
    return ModelStore().locate(Catalog().resolve(name))


def _assemble(config: DecoderConfig) -> Assembly:
    folder = model_folder(config.model)
    draft_folder = model_folder(config.draft_model) if config.draft_model else None
    tokenizer = Tokenizer.load(folder)
    import torch  # takes seconds, and nothing before this line needs it

    device = config.device if config.device != "auto" else "cuda" if torch.cuda.is_available() else "cpu"
    dtype: Dtype = config.dtype if config.dtype != "auto" else "float32" if device == "cpu" else "bfloat16"
    if config.threads:
        torch.set_num_threads(config.threads)
    target = _load(config, config.model, folder, tokenizer, device, dtype)
    draft = None
    if draft_folder is not None:
        draft = _load(config, config.draft_model, draft_folder, Tokenizer.load(draft_folder), device, dtype)
    corpus = Corpus(tokenizer.encode)
    return Assembly(tokenizer, PrefixCache(target), corpus, Drafters(target, corpus, draft), device, dtype)


def _load(
    config: DecoderConfig, name: str, folder: Path, tokenizer: Tokenizer, device: str, dtype: Dtype
) -> LanguageModel:
    from decoder.torch_model import ModelLoadError, TorchModel

    try:
        return TorchModel.load(
            folder,
            name=name,
            vocabulary=tokenizer.vocabulary,
            context_length=config.context_tokens,
            dtype=dtype,
            device=device,
        )
    except ModelLoadError as error:
        raise EngineError(str(error)) from error
