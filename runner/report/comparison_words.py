"""The result of a comparison in words; shared by its Markdown and its terminal table. `record` is compare.json
(runner.compare.record)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from runner.metrics.catalogue import catalogue_in
from runner.metrics.clusters import FEWEST_CLUSTERS
from runner.metrics.paired import FEWEST
from runner.report import metric
from runner.report.markdown import Markdown
from runner.words.wording import Wording

Record = Mapping[str, Any]
POWER = 0.8  # share of tries in which a detectable difference is found
NAMED = 5  # items in a sentence
MARKS = {"better": "▲", "worse": "▼"}
GRAVE = ("identity", "question", "gold", "rule")  # reasons: the runs were measured under different conditions


def own_wording(say: Wording, record: Record) -> Wording:
    """The words of the evaluations, about the metrics that the runs declared."""
    return say.of(record["candidate"].get("evaluation_type")).about(catalogue_in(record))


def k_of(record: Record) -> int | None:
    """k of both runs; None where they differ, so that `Recall@k` stays as it is."""
    baseline, candidate = record["baseline"]["k"], record["candidate"]["k"]
    return None if baseline != candidate else baseline


def label(entry: Record, record: Record, say: Wording) -> str:
    """The label of a metric, starred where it was shown although it is not comparable."""
    name = metric.label(entry["name"], k_of(record), say)
    return say("compare.anyway", metric=name) if _grave(entry["caveats"]) else name


def signed_number(value: float | None, say: Wording, digits: int = 4) -> Markdown:
    """`+0.0312`, `−0.0480`, `0` for nothing at all. Numbers need no escape in a table, and look better without."""
    if value is None:
        return Markdown(say("none"))
    text = f"{value:+.{digits}f}"
    return Markdown(text.replace("-", "−") if float(text) else "0")


def interval(entry: Record, say: Wording, digits: int = 4) -> Markdown:
    """A confidence interval with signs, or the word for none."""
    if entry["ci_low"] is None:
        return Markdown(say("none"))
    return Markdown(f"[{_end(entry['ci_low'], digits)}, {_end(entry['ci_high'], digits)}]")


def _end(value: float, digits: int) -> str:
    """An end that is rounded to 0 keeps its sign, which says on which side of 0 it lies."""
    return "0" if value == 0 else f"{value:+.{digits}f}".replace("-", "−")


def chance(p: float | None, say: Wording) -> Markdown:
    """A p-value to three digits, or the word for none."""
    if p is None:
        return Markdown(say("none"))
    return Markdown("< 0.001" if p < 0.001 else f"{p:.3f}")


def amount(value: float | None, name: str, say: Wording, *, sign: bool = False) -> str:
    """A latency or a cost."""
    digits = 6 if name.endswith("usd") else 1
    if value is None:
        return say("none")
    return signed_number(value, say, digits) if sign else Markdown(f"{value:.{digits}f}")


def shown_verdict(entry: Record, record: Record, say: Wording) -> str:
    """The verdict in words. A significant difference below the margin says so. Empty for a metric without a
    direction."""
    if entry["verdict"] is None:
        return say("none")
    text = verdict_word(entry, record["alpha"], say)
    margin = record["margin"] * say.catalogue.span(entry["name"])
    ends = entry["ci_low"], entry["ci_high"]
    if entry["verdict"] in MARKS and None not in ends and max(map(abs, ends)) <= margin:
        return say("compare.small", verdict=text, margin=plain(margin))
    return text


def verdict_word(entry: Record, alpha: float, say: Wording) -> str:
    """The verdict; where only the adjustment for other tests stands against one, it says so."""
    text = say.name("verdict", entry["verdict"])
    if entry["verdict"] in (*MARKS, "too_few") or not entry["p"] < alpha <= entry["p_holm"]:
        return text
    return say("compare.unadjusted", verdict=text, p=chance(entry["p"], say), tests=entry.get("tests", ""))


def metrics_of(record: Record) -> list[Record]:
    """The metrics without `recall_at_5` where both runs have k = 5: it equals `recall_at_k`, and has the same label."""
    names = {entry["name"] for entry in record["metrics"]}
    tail = f"_at_{k_of(record)}"

    def is_twin(name: str) -> bool:
        measure = name.removesuffix(tail)
        return measure != name and not names.isdisjoint({f"{measure}_at_k", measure})

    return [entry for entry in record["metrics"] if not is_twin(entry["name"])]


def of_role(record: Record, role: str) -> list[Record]:
    """The entries of a role (`main`, `other`, `leg`), in their order."""
    return [entry for entry in metrics_of(record) if entry["role"] == role]


def no_main_metric_text(record: Record, say: Wording) -> str:
    """Why there is no main metric to show."""
    return say("compare.say.not_judged" if record["verdict"] == "not_judged" else "compare.none")


def differs(entry: Record) -> bool:
    """Whether any case differs."""
    if "n_differing" not in entry:  # an older record
        return bool(entry["difference"] != 0 or entry["mde"] is not None)
    return bool(entry["n_differing"])


def plain(value: float) -> str:
    """A number without trailing zeros."""
    return f"{value:g}"


def list_items(items: Sequence[str], say: Wording, most: int = NAMED) -> str:
    """At most `most` items, and how many more there are."""
    joined = ", ".join(items[:most])
    return say("compare.and_more", items=joined, count=len(items) - most) if len(items) > most else joined


# --- sentences ------------------------------------------------------------------------------------


def headline(record: Record, say: Wording) -> str:
    """The verdict and its basis."""
    groups = {
        verdict: [entry for entry in of_role(record, "main") if entry["verdict"] == verdict]
        for verdict in ("better", "worse", "within_noise", "inconclusive", "too_few")
    }
    changes = {
        verdict: ", ".join(
            say("compare.change", metric=label(entry, record, say), difference=signed_number(entry["difference"], say))
            for entry in entries
        )
        for verdict, entries in groups.items()
    }
    names = [label(entry, record, say) for entry in groups["inconclusive"]]
    pairs = max((entry["n_paired"] for entry in of_role(record, "main")), default=0)
    counts = {"pairs": pairs, "fewest": FEWEST}
    values = {"margin": plain(record["margin"]), "open": list_items(names, say), **counts, **changes}
    first = deciding(record, say)
    if first:
        values |= {"first": label(first, record, say), **(first.get("undecided") or {})}
    verdict = record["verdict"]
    is_first_open = groups["better"] and verdict in ("inconclusive", "within_noise", "too_few")
    text = say("compare.say.first_open" if is_first_open else f"compare.say.{verdict}", **values)
    other_metrics = [
        f"{label(entry, record, say)} {say.name('verdict', entry['verdict'])}"
        for verdict in ("within_noise", "inconclusive", "too_few")
        for entry in groups[verdict]
    ]
    lines = [text]
    if verdict == "too_few" and first and pairs >= FEWEST:
        lines = [_too_few_clusters(first, record, say)]
    if first and verdict in ("within_noise", "inconclusive"):
        lines.append(would_find(first, record, say))
    if verdict == "worse" and groups["better"]:
        lines.append(say("compare.say.despite", **values))
    if other_metrics and (is_first_open or verdict in ("better", "worse", "mixed")):
        lines.append(say("compare.say.too", others=", ".join(other_metrics)))
    return " ".join([*lines, *_contradicting_metrics(record, say)])


def would_find(entry: Record, record: Record, say: Wording) -> str:
    """The smallest difference of a metric that would have had a verdict, and how often five points have one."""
    finds, detectable = entry.get("finds"), entry["mde"]
    five = ""
    if finds is not None and finds["share"] < POWER:
        five = say("compare.say.finds_five", difference=plain(finds["difference"]), share=round(100 * finds["share"]))
    values = {"first": label(entry, record, say), "pairs": entry["n_paired"], "five": five}
    if detectable is None:
        return say("compare.say.would_find_none", **values)
    return say("compare.say.would_find", detectable=two_digits(detectable), **values)


def two_digits(value: float) -> str:
    """A difference to two significant digits."""
    return f"{float(f'{value:.2g}'):g}"


def _too_few_clusters(entry: Record, record: Record, say: Wording) -> str:
    field = metric.cluster_field(record.get("clusters") or {}, say)
    values = {"pairs": entry["n_paired"], "n": entry["n_clusters"], "fewest": FEWEST_CLUSTERS}
    return say("compare.say.too_few_clusters", field=field, **values)


def cluster_lines(record: Record, say: Wording) -> list[str]:
    """How the pairs depend on each other; empty where they do not."""
    clusters, first = record.get("clusters") or {}, deciding(record, say)
    if not clusters:
        return []
    lines = []
    if clusters["baseline"] != clusters["candidate"]:
        lines.append(say("compare.clusters_differ", **{side: clusters[side] for side in ("baseline", "candidate")}))
    if first and first["n_clusters"] is not None:
        alone = say("cluster.alone", alone=clusters["n_alone"]) if clusters["n_alone"] else ""
        counts = {"pairs": record["pairing"]["n_paired"], "n": clusters["n"], "alone": alone}
        field, widening = metric.cluster_field(clusters, say), f"{first['widening']:.2f}"
        lines.append(say("compare.clusters", field=field, widening=widening, **counts))
    return lines


def deciding(record: Record, say: Wording) -> Record | None:
    """The main metric that the verdict follows."""
    main = {entry["name"]: entry for entry in of_role(record, "main")}
    return main[say.catalogue.in_order(main)[0]] if main else None


def _contradicting_metrics(record: Record, say: Wording) -> list[str]:
    """The other metrics that contradict the verdict."""
    lines = []
    for verdict in ("worse", "better"):
        entries = [entry for entry in of_role(record, "other") if entry["verdict"] == verdict]
        changes = [
            say("compare.change", metric=label(entry, record, say), difference=signed_number(entry["difference"], say))
            for entry in entries
        ]
        if changes and record["verdict"] not in (verdict, "mixed"):
            lines.append(say(f"compare.say.other_{verdict}", changes=list_items(changes, say)))
    return lines


def gate_lines(record: Record, say: Wording) -> list[str]:
    """Which rules fired, which cases broke, which rules could not be evaluated."""
    gate = record["gate"]
    rules, cases = gate["rules"], gate["cases"]
    fired = [rule_name(rule, record, say) for rule in rules if rule["status"] == "fired"]
    broken = [case["id"] for case in cases if case["status"] == "fired"]
    unsure = [rule_name(rule, record, say) for rule in rules if rule["status"].startswith("not_")]
    unsure += [say("compare.case", id=case["id"]) for case in cases if case["status"].startswith("not_")]
    lines = []
    if fired:
        lines.append(say("compare.fired", count=len(fired), total=len(rules), rules=", ".join(fired)))
    if broken:
        lines.append(say("compare.fired_cases", cases=list_items(broken, say, 20)))
    if (rules or cases) and not gate["fired"]:
        lines.append(say("compare.fired_not"))
        passed = [rule for rule in rules if rule["status"] == "passed" and rule.get("detectable") is not None]
        lines += [say("compare.gate_finds", rules=_finds(passed, record, say))] if passed else []
    if unsure:
        lines.append(say("compare.unsure", rules=", ".join(unsure)))
    return lines


def last_lines(record: Record, say: Wording) -> list[str]:
    """What a reader must not miss although the exit code does not show it: a verdict that no rule covers, and rules
    that see too little."""
    return [*unfired_lines(record, say), *underpowered_lines(record, say)]


def underpowered_lines(record: Record, say: Wording) -> list[str]:
    """A line on the rules that would have missed the losses that matter; empty without any."""
    rules = [rule for rule in record["gate"]["rules"] if rule["status"] == "underpowered"]
    if not rules:
        return []
    matters = ", ".join(dict.fromkeys(loss_text(rule, rule["matters"]) for rule in rules))
    return [say("compare.underpowered", matters=matters, rules=_finds(rules, record, say))]


def _finds(rules: Sequence[Record], record: Record, say: Wording) -> str:
    """The rules with the losses that they find: `Recall@5 0.11, MRR 0.08`."""
    losses = [
        say("compare.finds_nothing") if rule["detectable"] is None else loss_text(rule, rule["detectable"])
        for rule in rules
    ]
    return ", ".join(f"{rule_name(rule, record, say)} {loss}" for rule, loss in zip(rules, losses, strict=True))


def underpowered_text(rule: Record, record: Record, say: Wording) -> str:
    """The rule with the loss that it finds, and the one that matters."""
    values = {"rule": rule_name(rule, record, say), "matters": loss_text(rule, rule["matters"])}
    if rule["detectable"] is None:
        return say("compare.rule_finds_none", **values)
    return say("compare.rule_finds", detectable=loss_text(rule, rule["detectable"]), **values)


def loss_text(rule: Record, loss: float) -> str:
    """A loss in the unit of the rule."""
    return f"{loss:.1%}" if rule["relative"] else two_digits(loss)


def unfired_lines(record: Record, say: Wording) -> list[str]:
    """Lines on verdicts that no rule covers, and that the exit code does not show; empty without any."""
    if record["verdict"] != "worse" or record["gate"]["fired"]:
        return []
    return [say("compare.worse_unfired", verdict=say.name("verdict", "worse"))]


def warnings(record: Record, say: Wording) -> list[str]:
    """Warnings on what makes a comparison of the two runs unfair."""
    sentences = []
    if record["pairing"]["n_paired"] == 0:
        sentences.append(say("compare.warn.pairs"))
    grave = _grave(reason for entry in record["not_comparable"] for reason in entry["reasons"])
    if grave:
        sentences.append(say("compare.warn.measured", reasons="; ".join(reason_text(reason, say) for reason in grave)))
    if record["verdict"] == "not_comparable" and not sentences:
        sentences.append(say("compare.none"))
    caveats = _grave(reason for entry in record["metrics"] for reason in entry["caveats"])
    if caveats:
        sentences.append(say("compare.warn.caveat", reasons="; ".join(reason_text(reason, say) for reason in caveats)))
    for side in ("baseline", "candidate"):
        status = record[side]["status"]
        if status in ("partial", "failed", "running"):
            word = say.name("status", status)
            sentences.append(say("compare.warn.partial", side=say(f"compare.{side}"), status=word))
    return sentences


def changes(record: Record, say: Wording) -> list[str]:
    """Changes besides the system: cases that are left out for them, and documents."""
    if record.get("comparability") != "lenient":
        return []
    left_out, corpus = record["pairing"], record.get("corpus")
    lines = [(f"compare.left_out.{name}", left_out[name]) for name in ("new_question", "new_gold")]
    sentences = _of_cases(lines, say)
    if corpus is None:
        return sentences
    kinds = [name for name in ("added", "removed", "edited") if corpus[name]]
    counts = ", ".join(say(f"compare.corpus.{name}", n=corpus[name]) for name in kinds)
    documents = say("compare.corpus", changes=counts or say("compare.corpus.unknown"))
    met = [(f"compare.corpus.{name}", corpus[name] or ()) for name in ("gold", "retrieved")]
    return [*sentences, documents, *_of_cases(met, say)]


def decision_lines(record: Record, say: Wording) -> Iterator[str]:
    """How many cases of a main metric are undecided, and which pairs were decided by rules of different kinds."""
    for entry in of_role(record, "main"):
        name = label(entry, record, say)
        if record["verdict"] != "undecided" and any((entry.get("undecided") or {}).values()):
            yield say("compare.undecided", metric=name, pairs=entry["n_paired"], **entry["undecided"])
        for reason in entry["caveats"]:
            if reason["kind"] == "new_rule":
                cases = list_items(reason["cases"], say, 20)
                yield say("compare.left_out.new_rule", metric=name, n=reason["n_cases"], cases=cases)


def _of_cases(lines: Iterable[tuple[str, Sequence[str]]], say: Wording) -> list[str]:
    return [say(key, n=len(ids), cases=list_items(ids, say, 20)) for key, ids in lines if ids]


def _grave(reasons: Iterable[Record]) -> list[Record]:
    """Each once."""
    reason_by_text = {str(reason): reason for reason in reasons if reason["kind"] in GRAVE}
    return list(reason_by_text.values())


def reason_text(reason: Record, say: Wording) -> str:
    """Why a metric is not compared, in words."""
    kind, names = reason["kind"], reason["names"]
    if kind == "identity":
        words = dict.fromkeys(say.name("identity", name.partition(".")[0]) for name in names)
        return say("reason.identity", names=", ".join(words))
    if kind == "missing":
        return say(f"reason.missing_{names[0]}")
    if kind == "k":
        return say("reason.k", names=", ".join(names))
    return say(f"reason.{kind.removeprefix('new_')}", n=reason["n_cases"])


def rule_name(rule: Record, record: Record, say: Wording) -> str:
    """`Hit Rate@3`, `Recall@5 [ko]`."""
    name = rule["metric"]
    title = expense_name(name, say) if name.startswith(("latency.", "cost.")) else metric.label(name, k_of(record), say)
    sliced = ", ".join(map(str, (rule["slice"] or {}).values()))
    return f"{title} [{sliced}]" if sliced else title


def expense_name(name: str, say: Wording) -> str:
    """The name of latency.STAGE.p95_ms, cost.usd and cost.ROLE.usd."""
    kind, *middle, last = name.split(".")
    if kind == "latency":
        return say("expense.latency", stage=say.name("stage", ".".join(middle)), percentile=last.removesuffix("_ms"))
    unit = say(f"expense.{last}")
    return say("expense.of_role", unit=unit, role=say.name("role", middle[0])) if middle else unit
