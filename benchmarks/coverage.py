"""What the statistics of comparisons keep of what they promise, by simulation: before and after tables.

    python benchmarks/coverage.py [differences] [detectable] [clusters] [means] [corrected] [tails]
        [articles FOLDER] [--tries 300]

differences  95 % intervals of paired differences, and verdicts: "range" is the bounded interval over the whole range,
             which decided together with p before; "now" is the interval that inverts the swap test
detectable   how often p is below .05 at the difference that is called detectable: "2.80 errors" is the formula before
clusters     differences of clustered cases without a difference (false alarms) and with one (coverage), by case and by
             cluster
means        95 % intervals of means of clustered cases, by case and by cluster
corrected    95 % intervals of the mean that people would give to a run, from labels of a part and a judge of all: "t"
             is that of prediction-powered inference (PPI++), which `calibrate` printed before
tails        95 % intervals of means of costs and tokens, whose range is unknown: "bca" is that before
articles     the same for the articles of a run folder: its cases have a cluster and metrics (per_item.jsonl). Articles
             are drawn without replacement; the true mean is that of all
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import orjson

from runner.metrics.bounded import bounded_intervals
from runner.metrics.clusters import AUTO, Clusters, cluster_key, t_quantile
from runner.metrics.corrected_mean import corrected_mean, labels_alone
from runner.metrics.paired import PairedResult, compare_means
from runner.metrics.statistics import Floats, bca_intervals, mean_intervals

SIZES = (20, 50, 100, 300)
ALPHA, Z_POWER = 0.05, 2.8016
SEED = 1
NEAR = 1e-12

Draw = Callable[[int, int, np.random.Generator], Floats]
Study = tuple[Floats, Floats, np.ndarray | None]  # ratings of people, scores of the judge, groups


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", default=list(TABLES))
    parser.add_argument("--tries", type=int, default=300)
    options = parser.parse_args()
    started = time.perf_counter()
    names = list(options.tables)
    while names:
        name = names.pop(0)
        print(f"\n{name}, {options.tries} tries")
        if name == "articles":
            articles(Path(names.pop(0)), options.tries)
        else:
            TABLES[name](options.tries)
    print(f"\n{time.perf_counter() - started:.0f} s")


def compare(differences: Floats, clusters: Clusters | None = None) -> list[PairedResult]:
    """Columns of differences of values in 0..1."""
    ranges = np.repeat([(0.0, 1.0)], differences.shape[1], axis=0)
    before, after = np.maximum(-differences, 0.0), np.maximum(differences, 0.0)
    return compare_means(before, after, seed=SEED, ranges=ranges, clusters=clusters)


def limits_of(results: list[PairedResult]) -> Floats:
    return np.array([[each.low, each.high] for each in results], dtype=np.float64)


def found(results: list[PairedResult]) -> float:
    return float(np.mean([each.p < ALPHA for each in results]))


def coverage(limits: Floats, truth: float) -> float:
    return float(np.mean((limits[:, 0] <= truth + NEAR) & (truth - NEAR <= limits[:, 1])))


def width(limits: Floats) -> float:
    return float(np.ptp(limits, axis=1).mean())


def excluded(limits: Floats) -> Floats:
    return np.asarray((limits[:, 0] > 0) | (limits[:, 1] < 0))


# --- differences ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Family:
    name: str
    truth: float
    draw: Draw


def families() -> Iterator[Family]:
    for spread in (0.03, 0.1, 0.3):
        yield Family(f"normal, sd {spread}", 0.3 * spread, _normal(spread))
    yield Family("0, .5, 1: 25 % differ", 0.05, _graded)
    yield Family("reciprocal rank", 0.35 * float(RANKS @ (AFTER - BEFORE)), _ranks)
    yield Family("yes/no: 20 % differ", 0.06, _choice((0.0, 1.0, -1.0), (0.8, 0.13, 0.07)))
    yield Family("yes/no: 4 % differ", 0.02, _choice((0.0, 1.0, -1.0), (0.96, 0.03, 0.01)))
    yield Family("5 % differ, beta(2, 2)", 0.01, _seldom)
    yield Family("20 % fall by beta(1, 4)", -0.04, _falls)
    yield Family("15 % lose .5, 15 % gain .1", -0.06, _choice((0.0, -0.5, 0.1), (0.7, 0.15, 0.15)))
    yield Family("10 % lose .18, rest gains .02 *", 0.0, _balanced)
    yield Family("3 % lose 1, rest sd .03 *", -0.03, _rare_losses)


RANKS = np.array([1, 1 / 2, 1 / 3, 1 / 4, 1 / 5, 0.0])
BEFORE, AFTER = np.array([0.55, 0.15, 0.08, 0.05, 0.04, 0.13]), np.array([0.60, 0.15, 0.07, 0.04, 0.03, 0.11])


def _normal(spread: float) -> Draw:
    return lambda n, m, random: np.clip(0.3 * spread + spread * random.standard_normal((n, m)), -1, 1)


def _choice(values: tuple[float, ...], chances: tuple[float, ...]) -> Draw:
    return lambda n, m, random: random.choice(values, (n, m), p=chances)


def _graded(n: int, m: int, random: np.random.Generator) -> Floats:
    sizes = random.choice([0.5, -0.5, 1, -1], (n, m), p=[0.45, 0.25, 0.2, 0.1])
    return np.where(random.random((n, m)) < 0.25, sizes, 0.0)


def _ranks(n: int, m: int, random: np.random.Generator) -> Floats:
    before, after = (RANKS[random.choice(6, (n, m), p=chances)] for chances in (BEFORE, AFTER))
    return np.where(random.random((n, m)) < 0.35, after - before, 0.0)


def _seldom(n: int, m: int, random: np.random.Generator) -> Floats:
    signs = np.where(random.random((n, m)) < 0.7, 1.0, -1.0)
    return np.where(random.random((n, m)) < 0.05, signs * random.beta(2, 2, (n, m)), 0.0)


def _falls(n: int, m: int, random: np.random.Generator) -> Floats:
    return np.where(random.random((n, m)) < 0.2, -random.beta(1, 4, (n, m)), 0.0)


def _balanced(n: int, m: int, random: np.random.Generator) -> Floats:
    return np.where(random.random((n, m)) < 0.1, -0.18, 0.02) + 0.005 * random.standard_normal((n, m))


def _rare_losses(n: int, m: int, random: np.random.Generator) -> Floats:
    return np.where(random.random((n, m)) < 0.03, -1.0, 0.03 * random.standard_normal((n, m)))


def differences(tries: int) -> None:
    print("coverage, verdicts (0 outside and p < .05), mean width; * nobody may have drawn the losses")
    print(f"{'':32}{'n':>5}   {'range':>20}   {'now':>20}   contradictions before, now")
    for family in families():
        for n in SIZES:
            drawn = family.draw(n, tries, np.random.default_rng(n))
            results = compare(drawn)
            significant = np.array([each.p < ALPHA for each in results])
            sides = bounded_intervals(drawn, np.repeat([(-1.0, 1.0)], tries, axis=0)), limits_of(results)
            cells = [
                f"{coverage(each, family.truth):.3f} {np.mean(excluded(each) & significant):.2f} {width(each):.4f}"
                for each in sides
            ]
            clashes = " ".join(f"{np.mean(excluded(each) != significant):.2f}" for each in sides)
            print(f"{family.name:32}{n:5}   {cells[0]:>20}   {cells[1]:>20}   {clashes}")


# --- detectable -----------------------------------------------------------------------------------


def shifted(
    kind: str, parameter: float, difference: float, shape: tuple[int, int], random: np.random.Generator
) -> Floats:
    """Differences of cases with this mean: `parameter` is their standard deviation, or the share that differs."""
    if kind == "normal":
        return difference + parameter * random.standard_normal(shape)
    if kind == "yes/no":
        size = np.ones(shape)
        mean_size = 1.0
    elif kind == "0 .5 1":
        size, mean_size = random.choice([0.5, 1.0], shape, p=[0.7, 0.3]), 0.65
    else:
        size, mean_size = random.beta(2, 2, shape), 0.5
    share = max(parameter, difference / mean_size)
    up = random.random(shape) < (1 + difference / (share * mean_size)) / 2
    return np.where(random.random(shape) < share, np.where(up, size, -size), 0.0)


def detectable(tries: int) -> None:
    print("share of p < .05 at the printed value (the median over 40 samples); the bar is .70 to .90")
    print(f"{'':24}{'n':>5}{'2.80 errors':>18}{'now':>18}")
    kinds = [("normal", 0.03), ("normal", 0.3), ("0 .5 1", 0.25), ("0 .5 1", 0.1)]
    kinds += [("beta sizes", share) for share in (0.05, 0.1, 0.2)] + [
        ("yes/no", share) for share in (0.05, 0.1, 0.2, 0.4)
    ]
    low = high = cells = 0
    for kind, parameter in kinds:
        for n in SIZES:
            random = np.random.default_rng(n)
            guess = min(2.8 * (parameter if kind == "normal" else parameter**0.5) / n**0.5, 0.4 * parameter)
            pilots = compare(np.clip(shifted(kind, parameter, guess, (n, 40), random), -1, 1))
            values = [each.detectable() for each in pilots if each.detectable() is not None]
            before = float(np.median([Z_POWER * each.power.error for each in pilots]))
            texts = []
            for value in (before, float(np.median(values)) if len(values) > 20 else None):
                if value is None:
                    texts.append("nothing")
                    continue
                drawn = shifted(kind, parameter, min(value, 0.5 if kind == "beta sizes" else 0.65), (n, tries), random)
                share = found(compare(np.clip(drawn, -1, 1)))
                texts.append(f"{value:.4f} -> {share:.2f}")
            if texts[1] != "nothing":
                cells, low, high = cells + 1, low + (share < 0.7), high + (share > 0.9)
            print(f"{kind + ' ' + str(parameter):24}{n:5}{texts[0]:>18}{texts[1]:>18}")
    print(f"now below .70: {low}, above .90: {high}, of {cells}")


# --- clusters -------------------------------------------------------------------------------------


def sizes_of(n_clusters: int, is_unequal: bool, random: np.random.Generator) -> np.ndarray:
    if not is_unequal:
        return np.full(n_clusters, 10)
    return np.maximum(1, np.round(10 * random.lognormal(-0.32, 0.8, n_clusters))).astype(int)


def of_clusters(
    kind: str, mean: float, correlation: float, codes: np.ndarray, m: int, random: np.random.Generator
) -> Floats:
    """Values with this mean; the rate of each cluster is from a beta distribution."""
    scale = (1 - correlation) / correlation
    rates = random.beta(mean * scale, (1 - mean) * scale, (codes.max() + 1, m))[codes]
    drawn = random.random(rates.shape) < rates
    if kind == "yes/no":
        return drawn.astype(np.float64)
    return np.where(drawn, 1 - 0.3 * random.beta(1, 3, rates.shape), random.choice([0, 0.25, 0.5], rates.shape))


def clusters(tries: int) -> None:
    print("differences of -1, 0, 1 whose sign depends on the cluster; a true difference of 0, and of .1")
    print(f"{'clusters':>10}{'correlation':>13}{'sizes':>10}{'alarms: case, cluster':>26}{'held: case, cluster':>28}")
    for n_clusters in (6, 10, 20, 40, 100):
        for correlation in (0.1, 0.3, 0.5):
            for is_unequal in (False, True):
                random = np.random.default_rng(n_clusters * 7 + int(100 * correlation))
                codes = np.repeat(np.arange(n_clusters), sizes_of(n_clusters, is_unequal, random))
                by_cluster = Clusters.of(codes.tolist())
                texts = []
                for mean in (0.0, 0.1):
                    up = of_clusters("yes/no", 0.5 + mean, correlation, codes, tries, random)
                    drawn = np.where(random.random(up.shape) < 0.5, 2 * up - 1, 0.0)
                    sides = [compare(drawn), compare(drawn, by_cluster)]
                    texts += [[found(each), coverage(limits_of(each), mean)] for each in sides]
                alarms, held = (f"{texts[0][0]:.3f} {texts[1][0]:.3f}", f"{texts[2][1]:.3f} {texts[3][1]:.3f}")
                sizes = "unequal" if is_unequal else "10"
                print(f"{n_clusters:10}{correlation:13}{sizes:>10}{alarms:>26}{held:>28}")


def means(tries: int) -> None:
    print("coverage of means in clusters of about 10")
    print(
        f"{'values':>14}{'clusters':>10}{'correlation':>13}{'sizes':>10}{'by case, width':>18}{'by cluster, width':>20}"
    )
    for kind, share in (("yes/no", 0.7), ("yes/no", 0.9), ("yes/no", 0.98), ("graded", 0.8)):
        truth = share if kind == "yes/no" else share * (1 - 0.3 * 0.25) + (1 - share) * 0.25
        for n_clusters in (10, 20, 40, 100):
            for correlation, is_unequal in ((0.1, False), (0.3, False), (0.3, True), (0.5, False)):
                random = np.random.default_rng(n_clusters * 7 + int(100 * correlation))
                codes = np.repeat(np.arange(n_clusters), sizes_of(n_clusters, is_unequal, random))
                values = of_clusters(kind, share, correlation, codes, tries, random)
                sides = [mean_limits(values, None), mean_limits(values, Clusters.of(codes.tolist()))]
                texts = [f"{coverage(each, truth):.3f} {width(each):.3f}" for each in sides]
                sizes = "unequal" if is_unequal else "10"
                name = f"{kind} {share}"
                print(f"{name:>14}{n_clusters:10}{correlation:13}{sizes:>10}{texts[0]:>18}{texts[1]:>20}")


def mean_limits(values: Floats, by_cluster: Clusters | None) -> Floats:
    ranges = np.repeat([(0.0, 1.0)], values.shape[1], axis=0)
    return mean_intervals(values, ranges=ranges, seed=SEED, clusters=by_cluster)


# --- corrected means ------------------------------------------------------------------------------

N_JUDGED = 1000
JUDGES = ((0.9, 0.7), (0.95, 0.5), (0.8, 0.8), (0.98, 0.95))  # sensitivity, specificity


def corrected(tries: int) -> None:
    print(f"coverage and mean width of corrected means; {N_JUDGED} judged cases, labels are a random part")
    print(f"{'ratings':>16}{'judge':>12}{'labels':>8}{'t':>14}{'now':>14}{'labels alone':>16}")
    for n in (20, 30, 50, 100):
        for share in (0.5, 0.8, 0.9, 0.95, 0.98, 0.99):
            for sensitivity, specificity in JUDGES:
                studies = partial(yes_no_study, share, sensitivity, specificity)
                corrected_row(f"yes/no {share}", f"{sensitivity} {specificity}", n, share, studies, tries)
        for bad in (0.5, 0.2, 0.05, 0.02):
            for noise in (0.1, 0.25):
                truth = 1 - bad * 0.625
                corrected_row(f"grades {truth:.3f}", f"noise {noise}", n, truth, partial(grades, bad, noise), tries)
        studies = partial(yes_no_groups, 0.9)
        corrected_row("groups of 4, .9", "0.9 0.7", n, 0.9, studies, tries)


def corrected_row(
    name: str, judge: str, n: int, truth: float, draw: Callable[[int, np.random.Generator], Study], tries: int
) -> None:
    random, ends = np.random.default_rng(n), []
    for _ in range(tries):
        human, judged, groups = draw(n + N_JUDGED, random)
        labelled = human[:n], judged[:n], judged[n:]
        inside = None if groups is None else groups[:n]
        now, alone = corrected_mean(*labelled, inside), labels_alone(human[:n], inside)
        assert now is not None and alone is not None
        ends.append([t_limits(*labelled), (now.low, now.high), (alone.low, alone.high)])
    texts = [f"{coverage(each, truth):.3f} {width(each):.3f}" for each in np.moveaxis(np.array(ends), 1, 0)]
    print(f"{name:>16}{judge:>12}{n:8}{texts[0]:>14}{texts[1]:>14}{texts[2]:>16}")


def yes_no_study(share: float, sensitivity: float, specificity: float, n: int, random: np.random.Generator) -> Study:
    return (*rated_by_judge(random.random(n) < share, sensitivity, specificity, random), None)


def yes_no_groups(share: float, n: int, random: np.random.Generator) -> Study:
    """Groups of 4 answers that are alike: the rate of each is from a beta distribution with a correlation of .3."""
    scale = 0.7 / 0.3
    groups = np.arange(n) // 4
    rates = random.beta(share * scale, (1 - share) * scale, groups.max() + 1)
    return (*rated_by_judge(random.random(n) < rates[groups], 0.9, 0.7, random), groups)


def rated_by_judge(
    is_good: np.ndarray, sensitivity: float, specificity: float, random: np.random.Generator
) -> tuple[Floats, Floats]:
    judged = random.random(len(is_good)) < np.where(is_good, sensitivity, 1 - specificity)
    return is_good.astype(np.float64), judged.astype(np.float64)


def grades(bad: float, noise: float, n: int, random: np.random.Generator) -> Study:
    """Labels of 0, .25, … 1; a judge with noise that says anything of a tenth."""
    human = np.where(random.random(n) < bad, random.choice([0, 0.25, 0.5, 0.75], n), 1.0)
    seen = np.where(random.random(n) < 0.1, random.random(n), human)
    return human, np.clip(np.round(4 * (seen + noise * random.standard_normal(n))) / 4, 0, 1), None


def t_limits(human: Floats, judged: Floats, others: Floats) -> tuple[float, float]:
    """PPI++ (Angelopoulos, Duchi and Zrnic, 2023) with Student's quantile."""
    n = len(human)
    variance, covariance = judged.var(ddof=1) / n, float(np.cov(human, judged)[0, 1]) / n
    total = variance + others.var(ddof=1) / len(others)
    weight = covariance / total if variance > 0 else 0.0
    middle = float(human.mean() + weight * (others.mean() - judged.mean()))
    left = max(human.var(ddof=1) / n - 2 * weight * covariance + weight**2 * total, 0.0)
    margin = t_quantile(0.975, n - 1) * math.sqrt(left)
    return middle - margin, middle + margin


# --- means without a range ------------------------------------------------------------------------


def tailed() -> Iterator[Family]:
    """Costs and numbers of tokens; * nobody may have drawn the dear cases."""
    for spread in (0.5, 1.0, 1.25, 1.5):
        yield Family(f"lognormal, sd {spread}", math.exp(spread**2 / 2), partial(_lognormal, spread))
    yield Family("exponential", 1.0, lambda n, m, random: random.exponential(size=(n, m)))
    yield Family("gamma .5", 0.5, lambda n, m, random: random.gamma(0.5, size=(n, m)))
    yield Family("pareto 2.5", 2.5 / 1.5, lambda n, m, random: 1 + random.pareto(2.5, (n, m)))
    yield Family(
        "200 tokens and more",
        200 + 100 * math.exp(0.32),
        lambda n, m, random: 200 + 100 * _lognormal(0.8, n, m, random),
    )
    yield Family(
        "30 % are 0",
        0.7 * math.exp(0.32),
        lambda n, m, random: (random.random((n, m)) < 0.7) * _lognormal(0.8, n, m, random),
    )
    yield Family("10 % cost 10 times as much *", 1.9 * math.exp(0.045), _dear)


def _lognormal(spread: float, n: int, m: int, random: np.random.Generator) -> Floats:
    return random.lognormal(0.0, spread, (n, m))


def _dear(n: int, m: int, random: np.random.Generator) -> Floats:
    return np.where(random.random((n, m)) < 0.1, 10.0, 1.0) * _lognormal(0.3, n, m, random)


def tails(tries: int) -> None:
    print("coverage and median width in standard errors; too few to tell below 20")
    print(f"{'values':>30}{'n':>6}{'bca':>14}{'now':>14}")
    for family in tailed():
        for n in (10, 20, 30, 50, 100, 300):
            values = family.draw(n, tries, np.random.default_rng(n))
            error = values.std(axis=0) / math.sqrt(n)
            sides = bca_intervals(values, seed=SEED), mean_intervals(values, seed=SEED)
            texts = [
                f"{coverage(each, family.truth):.3f} {np.median(np.ptp(each, axis=1) / error):6.2f}" for each in sides
            ]
            print(f"{family.name:>30}{n:6}{texts[0]:>14}{'-' if np.isnan(sides[1]).all() else texts[1]:>14}")


def articles(folder: Path, tries: int) -> None:
    rows = [orjson.loads(line) for line in (folder / "per_item.jsonl").read_bytes().splitlines()]
    keys = [cluster_key(row["clusters"], row["tags"], AUTO) for row in rows]
    every = Clusters.of(keys)
    if every is None:
        raise SystemExit(f"{folder}: every case is a cluster by itself")
    print(f"{len(rows)} cases of {every.n} clusters")
    print(f"{'metric':>16}{'drawn':>7}{'by case':>12}{'by cluster':>12}{'alarms by case, cluster':>26}")
    names = ("ndcg_at_k", "recall_at_k", "mrr")
    for name in names:
        values = np.array([row["metrics"].get(name, np.nan) for row in rows], dtype=np.float64)
        has = ~np.isnan(values)
        for n_drawn in (10, 20, 40):
            random, held, alarms = np.random.default_rng(n_drawn), [], []
            for _ in range(tries):
                chosen = random.choice(every.n, n_drawn, replace=False)
                place = np.flatnonzero(has & np.isin(every.codes, chosen))
                inside, drawn = every.of_cases(place), values[place, None]
                limits = [mean_limits(drawn, by)[0] for by in (None, inside)]
                held.append([low <= values[has].mean() <= high for low, high in limits])
                signs = random.choice([-1.0, 1.0], every.n)[every.codes[place]]
                null = signs[:, None] * (drawn - values[has].mean())
                alarms.append([compare(null, by)[0].p < ALPHA for by in (None, inside)])
            by_case, by_cluster = np.mean(held, axis=0)
            rates = " ".join(f"{share:.3f}" for share in np.mean(alarms, axis=0))
            print(f"{name:>16}{n_drawn:7}{by_case:12.3f}{by_cluster:12.3f}{rates:>26}")


TABLES = {
    "differences": differences,
    "detectable": detectable,
    "clusters": clusters,
    "means": means,
    "corrected": corrected,
    "tails": tails,
}


if __name__ == "__main__":
    main()
