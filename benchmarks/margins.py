"""What margins of multiple choice add to right or wrong: `python -m benchmarks.margins MODEL ROWS [--keep FOLDER]`.

MODEL is a folder with a Hugging Face checkpoint, ROWS a JSONL file with `query`, `choices` and `gold` (the index). It
needs torch and transformers beside accgate. Options are scored by log-likelihood, as `arc_easy` does; a margin is the
right option's minus the best other's, in nats. The reference computes in float32, each candidate in bfloat16 with
rounded weights or key/value cache. `--keep` keeps the log-likelihoods, so that a second call needs no model.

For each candidate: the samples of `gsprt` and how many times fewer a test on soft scores 100 sigma(margin / t) takes
to pass a healthy run; how often that test passes a drop of theta; and by which factor, at most, any rule that never
passes such a drop too often can take fewer samples than the best on 0/100 scores: "blind" to the reference's margins,
with them known in advance, and where they also choose the rows.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from accgate.stats.gsprt import gsprt_test
from accgate.stats.sequential import units_of

Floats = npt.NDArray[np.float64]
Change = Callable[[Any], None]

ALPHA, BETA, THETA = 0.05, 0.2, 2.0
TEMPERATURES = (0.25, 0.5, 1.0, 2.0, 4.0)
BATCH = 24  # rows
LEAST, MOST = 30, 3_000  # samples after which a test on soft scores may pass, and that it takes at most
HEADER = (
    "| candidate | right | lost, gained | passes as it is: gsprt, soft | healthy: gsprt | soft, times fewer "
    "| soft passes a drop: shift, rescale, flips | any rule, times fewer at most: blind, margins known, rows chosen |\n"
    "|---|---|---|---|---|---|---|---|"
)
NEAR = 200  # rows of about the same margin, whose changes tell how likely one flips


def rounded(values: Any, bits: int) -> Any:
    """Round to so many bits with one scale for 32 values, as llama.cpp's Q8_0 and Q4_0 do."""
    parts = values.float().reshape(*values.shape[:-1], -1, 32)
    scale = parts.abs().amax(-1, keepdim=True).clamp(min=1e-12) / (2 ** (bits - 1) - 1)
    return ((parts / scale).round() * scale).reshape(values.shape).to(values.dtype)


def weights_of(bits: int) -> Change:
    """Return what rounds the weights of all layers."""

    def change(model: Any) -> None:
        for part in model.model.layers.modules():
            if hasattr(part, "in_features"):
                part.weight.data = rounded(part.weight.data, bits)

    return change


def cache_of(bits: int) -> Change:
    """Return what rounds keys and values."""

    def change(model: Any) -> None:
        for layer in model.model.layers:
            for part in (layer.self_attn.k_proj, layer.self_attn.v_proj):
                part.register_forward_hook(lambda _part, _inputs, output: rounded(output, bits))

    return change


CANDIDATES: dict[str, Change] = {
    "bfloat16": lambda _model: None,
    **{f"weights, {bits} bits": weights_of(bits) for bits in (8, 6, 5, 4)},
    **{f"cache, {bits} bits": cache_of(bits) for bits in (8, 4)},
}


class Packed:
    """A row as one sequence: the question once and each option after it, which see the question and not each other."""

    def __init__(self, tokenizer: Any, row: dict[str, Any]) -> None:
        head = tokenizer(row["query"].rstrip() + "\nAnswer:")["input_ids"]
        self.tokens, self.places, self.owner = [*head], [*range(len(head))], [-1] * len(head)
        self.asked: list[tuple[int, int, int]] = []  # the token before, the token, its option
        for number, choice in enumerate(row["choices"]):
            option, start = tokenizer(" " + choice, add_special_tokens=False)["input_ids"], len(self.tokens)
            self.asked += [(start + j - 1 if j else len(head) - 1, start + j, number) for j in range(len(option))]
            self.tokens += option
            self.places += range(len(head), len(head) + len(option))
            self.owner += [number] * len(option)


def likelihoods(folder: str, rows: Sequence[dict[str, Any]], change: Change | None) -> Floats:
    """Return the log-likelihood of each row's options, -inf where a row has fewer: shape (rows, options)."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    auto_model: Any = AutoModelForCausalLM
    auto_tokenizer: Any = AutoTokenizer
    tokenizer = auto_tokenizer.from_pretrained(folder)
    model = auto_model.from_pretrained(folder, dtype=torch.bfloat16 if change else torch.float32).eval()
    if change:
        change(model)
    packed = [Packed(tokenizer, row) for row in rows]
    order = sorted(range(len(rows)), key=lambda i: len(packed[i].tokens))
    totals = np.full((len(rows), max(len(row["choices"]) for row in rows)), -np.inf)
    for start in range(0, len(order), BATCH):
        batch = order[start : start + BATCH]
        size = max(len(packed[i].tokens) for i in batch)
        tokens, places = torch.zeros((2, len(batch), size), dtype=torch.long)
        seen = torch.eye(size, dtype=torch.bool).repeat(len(batch), 1, 1, 1)
        for k, row in enumerate(packed[i] for i in batch):
            count, owner = len(row.tokens), torch.tensor(row.owner)
            tokens[k, :count], places[k, :count] = torch.tensor(row.tokens), torch.tensor(row.places)
            seen[k, 0, :count, :count] = ((owner[None] == owner[:, None]) | (owner[None] < 0)).tril()
        mask = torch.zeros(seen.shape, dtype=model.dtype).masked_fill(~seen, torch.finfo(model.dtype).min)
        with torch.inference_mode():
            hidden = model.model(input_ids=tokens, position_ids=places, attention_mask=mask).last_hidden_state
            for k, i in enumerate(batch):
                before, at, option = map(list, zip(*packed[i].asked, strict=True))
                shares = model.lm_head(hidden[k, before]).float().log_softmax(-1)
                found = shares[torch.arange(len(at)), tokens[k, at]].double().numpy()
                totals[i, : len(rows[i]["choices"])] = np.bincount(option, found)
    return totals


def margins_of(totals: Floats, rows: Sequence[dict[str, Any]], *, normalise: bool) -> Floats:
    """Return the right option's log-likelihood minus the best other's.

    Normalised ones are divided by the option's characters and multiplied by their mean, so that they are in nats too.
    """
    sizes = np.ones_like(totals)
    for size, row in zip(sizes, rows, strict=True):
        size[: len(row["choices"])] = [len(choice) for choice in row["choices"]]
    values = totals / sizes * sizes[np.isfinite(totals)].mean() if normalise else totals.copy()
    at = np.arange(len(rows)), np.array([row["gold"] for row in rows])
    right = values[at]
    values[at] = -np.inf
    margins: Floats = right - values.max(1)
    return margins


class Pairs:
    """Margins of both sides, row by row."""

    def __init__(self, before: Floats, after: Floats, rng: np.random.Generator) -> None:
        self.before, self.after, self.rng = before, after, rng
        self.scores = 100.0 * ((after > 0.0).astype(float) - (before > 0.0))  # points

    def healthy(self) -> Pairs:
        """Each row twice, either side first: nothing dropped, and as many flip."""
        both = np.concatenate([self.before, self.after]), np.concatenate([self.after, self.before])
        return Pairs(*both, self.rng)

    def walks(self, runs: int) -> tuple[float, float]:
        """Mean samples that `gsprt` takes, and the share of runs that it passes early."""
        results = [
            gsprt_test(units_of(each), theta=THETA, alpha=ALPHA, beta=BETA, figures=False)
            for each in self.rng.choice(self.scores, (runs, 2 * MOST))
        ]
        return float(np.mean([each.n for each in results])), float(np.mean([x.stop == "futility" for x in results]))

    def softly(self, t: float, drop: float, runs: int, weights: Floats | None = None) -> tuple[float, float]:
        """The same for a test on soft scores that rules out `drop` of them; rows are drawn by their weights."""
        return passes(self.rng.choice(soft(self.after, t) - soft(self.before, t), (runs, MOST), p=weights), drop)

    def shifted(self) -> Pairs:
        """A drop of theta in which all margins fall by as much."""
        return self._dropped(lambda x: self.after - x)

    def rescaled(self) -> Pairs:
        """A drop of theta in which all margins move away from their mean, or towards it, by one factor."""
        center = self.after.mean()
        return self._dropped(lambda x: center + (self.after - center) * np.exp(x * np.sign(center)))

    def _dropped(self, moved: Callable[[float], Floats]) -> Pairs:
        low, high = 0.0, 10.0
        for _ in range(50):
            middle = (low + high) / 2.0
            is_less = 100.0 * np.mean(moved(middle) > 0.0) < 100.0 * np.mean(self.after > 0.0) - THETA
            low, high = (low, middle) if is_less else (middle, high)
        return Pairs(self.before, moved(high), self.rng)

    def flipped(self) -> Floats:
        """How likely each row is drawn after a drop of theta in which only more answers are lost than in this run.

        Given lost, same or gained the margins are those of this run.
        """
        lost, gained = self.scores < 0.0, self.scores > 0.0
        share, same = lost.mean() + THETA / 100.0, ~lost & ~gained
        changed = lost * share / lost.sum() + gained / len(gained)
        weights: Floats = changed + same * (1.0 - changed.sum()) / same.sum()
        return weights


def soft(margins: Floats, t: float) -> Floats:
    """Return 100 sigma(margin / t)."""
    return 50.0 * (1.0 + np.tanh(margins / (2.0 * t)))


def passes(draws: Floats, drop: float) -> tuple[float, float]:
    """Return the mean samples of a test on soft scores, shape (runs, samples), and the share of runs that it passes.

    It passes where no drop is 1 / beta times as likely as `drop`, at the variance seen.
    """
    n = np.arange(1, draws.shape[1] + 1)
    sums, squares = draws.cumsum(1), (draws**2).cumsum(1)
    variance = np.maximum(squares / n - (sums / n) ** 2, 1e-9)
    ends = (drop * sums + n * drop**2 / 2.0 >= np.log(1.0 / BETA) * variance) & (n >= LEAST)
    stops = np.where(ends.any(1), ends.argmax(1) + 1, draws.shape[1])
    return float(stops.mean()), float(ends.any(1).mean())


def flip_rates(before: Floats, after: Floats) -> Floats:
    """Return how likely each row flips: how often the change of a row of about its margin, either way, is larger."""
    order = np.argsort(np.abs(before))
    size, change = np.abs(before)[order], np.abs(after - before)[order]
    rates = np.empty(len(order))
    for i, row in enumerate(order):
        start = min(max(0, i - NEAR // 2), max(0, len(order) - NEAR))
        rates[row] = np.mean(change[start : start + NEAR] > size[i]) / 2.0
    return rates


def divergence(rates: Floats, others: Floats) -> Floats:
    """Return the Kullback-Leibler divergence of coins."""
    p, q = np.clip(rates, 1e-12, 1.0 - 1e-12), np.clip(others, 1e-15, 1.0 - 1e-12)
    found: Floats = p * np.log(p / q) + (1.0 - p) * np.log((1.0 - p) / (1.0 - q))
    return found


def gains(rates: Floats, right: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """Return by which factors any rule can take fewer samples than the best on 0/100 scores.

    Samples to pass are a constant over the least divergence of healthy runs from runs with a drop of theta (Wald). A
    rule that knows the outcomes alone has that of lost, same and gained. One that knows each row's flip rate has the
    mean divergence of rows in random order; one that also chooses the rows has the largest that the drop must show
    in some rows, which is the same in all of them.
    """
    sign = np.where(right, 1.0, -1.0)

    def tilted(force: float) -> Floats:  # (b - a) / (b (1 - b)) = force, the least mean divergence of a given drop
        s = force * sign + 1e-15
        root = np.sqrt((1.0 - s) ** 2 + 4.0 * s * rates)
        found: Floats = (s - 1.0 + root) / (2.0 * s)
        return found

    def spread(level: float) -> Floats:  # the rates that are as far from a row's own as `level`
        near, far = rates.copy(), np.where(right, 1.0, 0.0)
        for _ in range(50):
            middle = (near + far) / 2.0
            inside = divergence(rates, middle) < level
            near, far = np.where(inside, middle, near), np.where(inside, far, middle)
        return near

    def least(moved: Callable[[float], Floats], most: float) -> float:
        low, high = 1e-6, most
        for _ in range(50):
            middle = (low + high) / 2.0
            enough = 100.0 * np.mean(sign * (moved(middle) - rates)) > THETA
            low, high = (low, middle) if enough else (middle, high)
        return high

    lost, gained = float(np.mean(rates * right)), float(np.mean(rates * ~right))
    other = np.linspace(1e-6, gained, 20_000)  # gained after a drop of theta
    more = lost - gained + THETA / 100.0 + other
    same = np.log((1.0 - lost - gained) / (1.0 - more - other))
    outcomes = np.min(lost * np.log(lost / more) + gained * np.log(gained / other) + (1.0 - lost - gained) * same)
    mean = float(np.mean(divergence(rates, tilted(least(tilted, 50.0)))))
    return mean / float(outcomes), least(spread, 1.0) / float(outcomes)


def row_of(name: str, before: Floats, after: Floats, runs: int) -> str:
    """Return a candidate's line of the table."""
    if np.array_equal(before > 0.0, after > 0.0):
        return f"| {name} | no answer changes |"
    rng = np.random.default_rng([*CANDIDATES].index(name))
    pairs = Pairs(before, after, rng)
    healthy = pairs.healthy()
    walk, shifted, rescaled = healthy.walks(runs)[0], healthy.shifted(), healthy.rescaled()
    drops = {t: float(np.mean(soft(healthy.after, t) - soft(shifted.after, t))) for t in TEMPERATURES}
    fewer = [walk / healthy.softly(t, drops[t], runs)[0] for t in TEMPERATURES]
    wrong = [each.softly(1.0, drops[1.0], runs)[1] for each in (shifted, rescaled)]
    wrong.append(healthy.softly(1.0, drops[1.0], runs, healthy.flipped())[1])
    as_it_is = pairs.walks(runs)[1], pairs.softly(1.0, drops[1.0], runs)[1]
    known, chosen = gains(flip_rates(before, after), before > 0.0)
    cells = [
        name,
        f"{100 * np.mean(after > 0):.1f}",
        f"{100 * np.mean((before > 0) & (after <= 0)):.1f}, {100 * np.mean((before <= 0) & (after > 0)):.1f}",
        ", ".join(f"{each:.2f}" for each in as_it_is),
        f"{walk:.0f}",
        ", ".join(f"{each:.1f}" for each in fewer),
        ", ".join(f"{each:.2f}" for each in wrong),
        f"1.0, {known:.2f}, {chosen:.2f}",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Score the options where that is not kept, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="folder of a Hugging Face checkpoint")
    parser.add_argument("rows", type=Path, help="JSONL file: query, choices, gold")
    parser.add_argument("--first", type=int, help="so many rows of the file (all)")
    parser.add_argument("--runs", type=int, default=300, help="simulated runs of a cell (300)")
    parser.add_argument("--keep", type=Path, help="folder for the log-likelihoods")
    parser.add_argument("--candidates", nargs="*", default=[*CANDIDATES], choices=[*CANDIDATES], metavar="NAME")
    arguments = parser.parse_args()
    rows = [json.loads(line) for line in arguments.rows.read_text(encoding="utf-8").splitlines()][: arguments.first]
    totals = {}
    for name in ("float32", *arguments.candidates):
        file = arguments.keep and arguments.keep / f"{arguments.rows.stem}-{len(rows)}-{name}.npy"
        if file and file.exists():
            totals[name] = np.load(file)
            continue
        totals[name] = likelihoods(arguments.model, rows, CANDIDATES.get(name))
        if file:
            file.parent.mkdir(parents=True, exist_ok=True)
            np.save(file, totals[name])
    for normalise in (False, True):
        margins = {name: margins_of(each, rows, normalise=normalise) for name, each in totals.items()}
        before = margins.pop("float32")
        print(f"\n{len(rows)} rows, {'divided by length' if normalise else 'sums'}: {np.mean(before > 0):.1%} right;")
        print(f"half of the margins are within {np.median(np.abs(before)):.2f} nats")
        print(f"\n{HEADER}")
        for name, after in margins.items():
            print(row_of(name, before, after, arguments.runs), flush=True)


if __name__ == "__main__":
    main()
