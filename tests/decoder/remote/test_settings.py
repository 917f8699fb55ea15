"""The table [engine] of config.toml with kind = "remote"."""

from typing import Any

import pytest

from decoder.config import ConfigError, DecoderConfig, from_values
from decoder.remote.settings import RemoteSettings

HERE: dict[str, Any] = {"kind": "remote", "base_url": "http://127.0.0.1:8000/v1", "model": "NAME"}


def remote(**changes: Any) -> RemoteSettings:
    config = from_values({"engine": HERE | changes}, "here.toml")
    assert config.remote is not None
    return config.remote


def refused(**changes: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        remote(**changes)
    text = str(caught.value)
    assert text.startswith("here.toml: ")
    assert "\n" not in text
    return text


def test_the_contract_is_accepted() -> None:
    assert remote(prompt_family="prefix") == RemoteSettings("http://127.0.0.1:8000/v1", "NAME", "prefix")
    assert remote() == RemoteSettings("http://127.0.0.1:8000/v1", "NAME", "auto")


def test_all_that_may_be_set() -> None:
    changes = {
        "prompt_family": "qwen2.5-coder",
        "api_key_env": "LLM_API_KEY",
        "headers": {"X-Team": "editors"},
        "ca_file": "ca.pem",
        "context_characters": 8000,
        "connect_seconds": 1,
        "first_token_seconds": 5,
        "next_token_seconds": 2.5,
    }
    made = remote(**changes)
    assert {key: getattr(made, key) for key in changes} == changes


def test_settings_of_local_models_may_stay_in_the_file() -> None:
    config = from_values({"model": "smollm2-135m", "engine": HERE}, "here.toml")
    assert (config.model, config.engine) == ("smollm2-135m", "auto")


@pytest.mark.parametrize(
    ("engine", "name"),
    [("torch", "torch"), ({"kind": "local"}, "auto"), ({"kind": "local", "name": "openvino"}, "openvino")],
)
def test_a_local_engine_is_named_by_a_string_or_a_table(engine: Any, name: str) -> None:
    config = from_values({"engine": engine}, "here.toml")
    assert (config.engine, config.remote) == (name, None)


@pytest.mark.parametrize(
    ("engine", "said"),
    [
        ({}, "engine.kind is missing: set kind = 'remote' or kind = 'local'"),
        ({"kind": "cloud"}, "engine.kind = 'cloud' must be one of local, remote"),
        ({"kind": 3}, "engine.kind = 3 must be one of local, remote"),
        ({"kind": "local", "name": "vllm"}, "engine.name = 'vllm' must be one of auto, openvino, torch"),
        ({"kind": "local", "name": 3}, "engine.name = 3 must be a string"),
        ({"kind": "local", "base_url": "x"}, "unknown key 'engine.base_url'; with kind = 'local' there is name"),
        ({"kind": "remote"}, "engine.base_url is missing: set it, as in base_url = 'http://127.0.0.1:8000/v1'"),
        (["remote"], "engine = ['remote'] must be a string"),
    ],
)
def test_a_wrong_kind_is_told(engine: Any, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        from_values({"engine": engine}, "here.toml")
    assert str(caught.value).startswith(f"here.toml: {said}")


def test_remote_is_no_key_of_the_file() -> None:
    with pytest.raises(ConfigError, match="unknown key 'remote'; known keys are model"):
        from_values({"remote": HERE}, "here.toml")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model": ""}, "engine.model is missing: set it, as in model = 'NAME'"),
        ({"model": 7}, "engine.model = 7 must be a string"),
        ({"base_url": "127.0.0.1:8000/v1"}, "engine.base_url = '127.0.0.1:8000/v1' must begin with http:// or https"),
        ({"base_url": "file:///v1"}, "must begin with http:// or https:// and a host"),
        ({"base_url": "http://"}, "must begin with http:// or https:// and a host"),
        ({"base_url": "http://h:99999/v1"}, "is no address: Port out of range"),
        ({"base_url": "http://h/v1?x=1"}, "must end with its path"),
        ({"base_url": "http://h/v1#x"}, "must end with its path"),
        ({"base_url": "http://h/v1/completions"}, "must end before /completions"),
        ({"base_url": "http://a b/v1"}, "must not hold blanks"),
        ({"prompt_family": "llama"}, "engine.prompt_family = 'llama' must be one of auto, prefix, "),
        ({"context_characters": 10}, "engine.context_characters = 10 must be at least 200"),
        ({"context_characters": 1.5}, "engine.context_characters = 1.5 must be a whole number"),
        ({"connect_seconds": 0}, "engine.connect_seconds = 0 must be at least 0.1"),
        ({"connect_seconds": True}, "engine.connect_seconds = True must be a number"),
        ({"next_token_seconds": 1e9}, "engine.next_token_seconds = 1000000000.0 must be at most 600.0"),
        ({"ca_file": 3}, "engine.ca_file = 3 must be a string, as in engine.ca_file = '/etc/ssl/own.pem'"),
        ({"headers": {"X-A": 1}}, "engine.headers: the value of 'X-A' must be a string of printable ASCII"),
        ({"headers": {"X A": "1"}}, "engine.headers: 'X A' is not a header that can be set"),
        ({"headers": {"Host": "h"}}, "engine.headers: 'Host' is not a header that can be set"),
        ({"headers": {"authorization": "x"}, "api_key_env": "K"}, "'authorization' is made from api_key_env"),
        ({"api_key": "x"}, "unknown key 'engine.api_key'; known keys are kind, base_url, model, prompt_family"),
    ],
)
def test_a_wrong_value_is_told_with_what_is_accepted(changes: dict[str, Any], said: str) -> None:
    assert said in refused(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"api_key_env": "sk-zz-secret-123"},
        {"api_key_env": ["sk-zz-secret-123"]},
        {"api_key": "sk-zz-secret-123"},
        {"headers": "Bearer zz-secret-123"},
        {"headers": {"X-Key": "zz-secret-123\n"}},
        {"headers": {"X-Key": ["zz-secret-123"]}},
        {"base_url": "http://me:zz-secret-123@host/v1"},
    ],
    ids=str,
)
def test_what_may_be_a_secret_is_not_told(changes: dict[str, Any]) -> None:
    assert "secret" not in refused(**changes)


def test_headers_are_not_in_what_is_printed_of_the_settings() -> None:
    config = from_values({"engine": HERE | {"headers": {"X-Key": "zz-secret-123"}}}, "here.toml")
    assert isinstance(config, DecoderConfig)
    assert "secret" not in repr(config)


@pytest.mark.parametrize("end", ["", "/", "//"])
def test_a_slash_at_the_end_of_the_address_makes_no_difference(end: str) -> None:
    assert remote(base_url=f"http://h/v1{end}").base_url == "http://h/v1"


@pytest.mark.parametrize(
    ("url", "is_readable"),
    [
        ("http://127.0.0.1:8000/v1", False),
        ("http://127.3.2.1/v1", False),
        ("http://[::1]:8000/v1", False),
        ("http://localhost/v1", False),
        ("http://llm.localhost/v1", False),
        ("https://llm.example/v1", False),
        ("http://llm.example/v1", True),
        ("http://10.0.0.2/v1", True),
        ("http://localhost.example/v1", True),
    ],
)
def test_code_that_others_could_read_on_its_way(url: str, is_readable: bool) -> None:
    assert remote(base_url=url).is_readable_by_others is is_readable
