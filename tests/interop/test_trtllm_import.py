"""Reference files of TensorRT-LLM's accuracy suite become references that judge as the suite does."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import norm
from syrupy.assertion import SnapshotAssertion

from accgate.errors import BadInput, CannotEvaluate
from accgate.inputs.toml import parsed_toml
from accgate.interop.trtllm import SuiteReference, keep_means, read_suite, task_tables
from accgate.references.store import Reference, find_reference
from accgate.stats.unpaired import two_sample_z
from tests.support.cases import each, refusal

GSM8K = """
meta-llama/Llama-3.1-8B-Instruct:
  - accuracy: 74.20
  - spec_dec_algo: NGram
    accuracy: 74.20
  - dtype: auto
    quant_algo: FP8
    kv_cache_quant_algo: FP8
    accuracy: 72.85
google/gemma-3-1b-it:
  - accuracy: 25.52 # score getting from lm-eval with HF implementation
"""
BEAMS = """
gpt2:
  - accuracy: 18.408
  - extra_acc_spec: beam_width=8;beam_width_array=[2,3,4,5]
    num_samples: 32
    accuracy: 26.994
  - quant_algo: FP8
    extra_acc_spec: temperature=0.8,top_p=0.95
    accuracy: 28.631
"""


LLAMA = "meta-llama/Llama-3.1-8B-Instruct"


def kept(store: Path, name: str, task: str) -> Reference:
    """The reference that is there."""
    reference = find_reference(store, name, task)
    assert reference is not None
    return reference


def suite(folder: Path, name: str, text: str, **options: Any) -> list[SuiteReference]:
    path = folder / f"{name}.yaml"
    path.write_text(text, encoding="utf-8")
    return read_suite(path, **options)


def test_specifications_become_variants_with_the_suite_s_defaults(tmp_path: Path) -> None:
    found = {one.name: one for one in suite(tmp_path, "gsm8k", GSM8K)}
    quantised = f"{LLAMA}@kv_cache_quant_algo=FP8,quant_algo=FP8"
    assert set(found) == {LLAMA, f"{LLAMA}@spec_dec_algo=NGram", quantised, "google/gemma-3-1b-it"}
    fp8 = found[quantised]
    assert (fp8.task, fp8.mean, fp8.n, fp8.sigma, fp8.alpha, fp8.beta) == ("gsm8k", 72.85, 1319, 50.0, 0.05, 0.2)


@each(
    ("name", "task", "n", "sigma", "alpha"),
    [  # accuracy_core.py of the suite
        ("mixed_modality_omni", "mixed_modality_omni", 50, 50.0, 0.05),
        ("cnn_dailymail", "cnn_dailymail", 512, 11.06, 0.002),
        ("zero_scrolls", "zero_scrolls", 80, 6.97, 0.002),
        ("humaneval", "humaneval_rouge1", 164, 15.08, 0.002),
        ("passkey_retrieval_64k", "passkey_retrieval_64k", 20, 0.0, 0.5),
        ("SlimPajama-6B", "slimpajama", 86, 4.48, 0.01),
    ],
)
def test_defaults_are_those_of_the_suite(
    tmp_path: Path, name: str, task: str, n: int, sigma: float, alpha: float
) -> None:
    (one,) = suite(tmp_path, name, "m:\n  - accuracy: 30")
    assert (one.task, one.n, one.sigma, one.alpha, one.beta) == (task, n, sigma, alpha, 0.2)
    assert one.higher_is_better is (name != "SlimPajama-6B")


def test_a_reference_judges_by_the_suite_s_own_threshold(tmp_path: Path) -> None:
    (one,) = suite(tmp_path, "cnn_dailymail", "m:\n  - accuracy: 33.640")
    threshold = 33.640 + norm.ppf(0.002) * (2 * 11.06**2 / 512) ** 0.5  # compute_threshold of accuracy_core.py
    keep_means(tmp_path / "store", [one], reason=None, date="2026-11-21")
    about = kept(tmp_path / "store", "m", "cnn_dailymail").about
    assert about.sigma is not None
    found = two_sample_z(30.0, about.n, about.mean, about.n, sigma=about.sigma, alpha=one.alpha, beta=one.beta)
    assert about.mean + found.threshold == pytest.approx(threshold, abs=1e-9)


@each(
    ("name", "text", "threshold"),
    [  # gsm8k_inferencex.yaml as of August 2026, and a rate of errors, of which the threshold is a ceiling
        ("gsm8k_inferencex", "m:\n  - spec_dec_algo: Eagle3\n    accuracy: 97.0\n    threshold: 94.0", 94.0),
        ("gsm8k", "m:\n  - accuracy: 95.46\n    threshold: 94\n    alpha: 0.01\n    reference_note: published", 94.0),
        ("voxpopuli", "m:\n  - wer: 6.2\n    num_samples: 1842\n    threshold: 8.5", 8.5),
    ],
)
def test_a_threshold_of_an_entry_is_where_gamma_lies_and_no_part_of_its_name(
    tmp_path: Path, name: str, text: str, threshold: float
) -> None:
    (one,) = suite(tmp_path, name, text)
    scale = (2 * one.sigma**2 / one.n) ** 0.5
    gamma = one.mean + norm.ppf(one.alpha) * scale * (1 if one.higher_is_better else -1)
    assert gamma == pytest.approx(threshold, abs=1e-4)
    assert "threshold" not in one.variant
    assert f"alpha puts gamma at the suite's threshold of {threshold:g}" in task_tables([one])


@each(
    ("name", "entries", "expected"),
    [
        ("mmlu", "{accuracy: 30, alpha: 0.01, beta: 0.1, sigma: 40, num_samples: 7}", (7, 40.0, 0.01, 0.1)),
        ("mmlu", "{accuracy: 30}, {accuracy: 30}", (4096, 50.0, 0.05, 0.2)),  # the same twice is one
        ("gsm8k", "{accuracy: 30, mtp_enabled: true, quant_algo: null}", (1319, 50.0, 0.05, 0.2)),
    ],
)
def test_figures_of_an_entry_go_before_the_defaults(tmp_path: Path, name: str, entries: str, expected: Any) -> None:
    (one,) = suite(tmp_path, name, f"m: [{entries}]")
    assert (one.n, one.sigma, one.alpha, one.beta) == expected
    assert one.variant == ({"mtp_enabled": True} if name == "gsm8k" else {})  # a key that the suite ignores


def test_a_comma_in_a_specification_does_not_end_the_baseline_s_value(tmp_path: Path) -> None:
    found = suite(tmp_path, "cnn_dailymail", BEAMS)
    keep_means(tmp_path / "store", found, reason=None, date="")
    for one in found:
        assert kept(tmp_path / "store", one.name, "cnn_dailymail").about.mean == one.mean
    assert found[2].name == "gpt2@extra_acc_spec=temperature=0.8;top_p=0.95,quant_algo=FP8"


def test_a_data_set_that_is_not_known_needs_its_figures(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"sigma, the standard deviation of one score, is not known for own .*--sigma"):
        suite(tmp_path, "own", "m:\n  - accuracy: 30")
    with pytest.raises(BadInput, match="num_samples is 0; give a whole number, or --num-samples"):
        suite(tmp_path, "own", "m:\n  - accuracy: 30", sigma=50.0)
    (one,) = suite(tmp_path, "own", "m:\n  - accuracy: 30", sigma=50.0, num_samples=9)
    assert (one.task, one.n, one.sigma) == ("own", 9, 50.0)


WRONG = (
    "m: [{accuracy: 30}, {accuracy: 31}]", "m: [{quant_algo: FP8}]", "m: [{accuracy: 30, sigma: -1}]",
    "m: [{accuracy: 30, num_samples: 1.5}]", "m: [{accuracy: 30, higher_is_better: 1}]", "m: [30]", "m: {ref_al: 2.0}",
    "m: {ref_al: 2.0}\nn: [{accuracy: 3}]", "{}", "[1]", "m: [{accuracy: 70, threshold: 75}]",
    "m: [{accuracy: 70, sigma: 0, threshold: 69}]", "m: [{accuracy: 70, threshold: high}]",
    "m: [{accuracy: 70, quant_algos: FP8}]", "a: &it [{accuracy: 70}]\nb: *it", "m: " + 20 * "[",
)  # fmt: skip


def test_a_file_that_says_too_little_or_two_things_is_an_error(tmp_path: Path, messages: SnapshotAssertion) -> None:
    assert {text: refusal(suite, tmp_path, "mmlu", text) for text in WRONG} == messages
    assert "is not YAML" in refusal(suite, tmp_path, "mmlu", "m: [")


def test_a_file_that_is_not_there_and_a_package_that_is_missing_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "cannot be read" in refusal(read_suite, tmp_path / "mmlu.yaml")
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(CannotEvaluate, match=r"pip install 'accgate\[interop\]'"):
        suite(tmp_path, "mmlu", "m:\n  - accuracy: 30")


def test_a_reference_is_replaced_only_with_a_reason_and_all_or_none(tmp_path: Path) -> None:
    one, other = suite(tmp_path, "mmlu", "a:\n  - accuracy: 30\nb:\n  - accuracy: 40")
    keep_means(tmp_path / "store", [other], reason=None, date="")
    in_the_way = tmp_path / "store" / "b" / "mmlu.toml.part"
    in_the_way.mkdir()
    with pytest.raises(CannotEvaluate, match="store: cannot be written"):
        keep_means(tmp_path / "store", [one, other], reason="a newer file", date="")
    in_the_way.rmdir()
    assert find_reference(tmp_path / "store", "a", "mmlu") is None
    assert "why it is replaced" in refusal(keep_means, tmp_path / "store", [one, other], reason=None, date="")
    assert find_reference(tmp_path / "store", "a", "mmlu") is None
    keep_means(tmp_path / "store", [one, other], reason="a newer file", date="")
    about = kept(tmp_path / "store", "b", "mmlu").about
    assert (about.reason, about.replaced["mean"]) == ("a newer file", 40.0)


def test_the_printed_tables_are_toml_and_say_what_differs(tmp_path: Path) -> None:
    found = [*suite(tmp_path, "cnn_dailymail", BEAMS), *suite(tmp_path, "humaneval", "m:\n  - accuracy: 31.7")]
    text = task_tables([*found, *suite(tmp_path, "SlimPajama-6B", "m:\n  - accuracy: 7.663")])
    tables = parsed_toml(Path("accuracy.toml"), text).data["tasks"]
    assert tables["cnn_dailymail"] == {
        "test": "two-sample", "sigma": 11.06, "alpha": 0.002, "beta": 0.2, "num_samples": 512,
    }  # fmt: skip
    assert tables["humaneval_rouge1"]["sigma"] == 15.08
    assert "# gpt2@extra_acc_spec=beam_width=8;beam_width_array=[2;3;4;5]: num_samples = 32" in text
    assert "# the suite scores HumanEval by ROUGE" in text
    assert text.count("# lower is better") == 1


def test_two_files_of_one_task_are_one_reference_or_refused(tmp_path: Path) -> None:
    store, folders = tmp_path / "store", [tmp_path / "one", tmp_path / "other"]
    for folder in folders:
        folder.mkdir()
    one, other = (suite(folder, "mmlu", "m:\n  - accuracy: 30")[0] for folder in folders)
    assert keep_means(store, [one, other], reason=None, date="") == [store / "m" / "mmlu.toml"] * 2
    (changed,) = suite(folders[1], "mmlu", "m:\n  - accuracy: 31")
    with pytest.raises(BadInput, match=r"other/mmlu\.yaml: m is in .*one/mmlu\.yaml too, with other figures"):
        keep_means(tmp_path / "new", [one, changed], reason=None, date="")
    assert not (tmp_path / "new").exists()
