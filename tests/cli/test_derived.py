"""Options that formulations bring: every parameter of every formulation is one, and takes what any of them takes."""

import dataclasses
from typing import Literal

import click
import pytest

from harness.cli import compare, derived
from harness.parameters import parameter, parameters_of
from harness.registry import load_registry


def option(**holders):
    """The option of the parameter ``x`` of these formulations, given as (type, parameter)."""
    classes = {
        name: dataclasses.make_dataclass(name, [("x", *declared)], frozen=True) for name, declared in holders.items()
    }
    known = {name: parameters_of(cls)[0] for name, cls in classes.items()}
    return derived.option(derived._fact("x", known), "The problem")


def test_every_parameter_of_every_formulation_is_an_option():
    registry = load_registry()
    context = compare.command.make_context("compare", ["--plugins", "smo"])
    offered = {each.name: each for each in compare.command.get_params(context)}
    for formulation in registry.formulations.values():
        for known in formulation.known_parameters():
            assert formulation.name in offered[known.name].help
            assert f"--{known.name.replace('_', '-')}" in offered[known.name].opts


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["--C", "1,10"], {"C": [1.0, 10.0]}),
        (["--D-minus", "0.1,1", "--D", "1"], {"D": [1.0], "D_minus": [0.1, 1.0]}),
        (["--class-weight", "none,balanced"], {"class_weight": ["none", "balanced"]}),
        (["--epsilon", "0"], {"epsilon": [0.0]}),
        (["--s=-1,0.5"], {"s": [-1.0, 0.5]}),
        (["--nu", "none,0.3"], {"nu": ["none", 0.3]}),
    ],
)
def test_their_values_reach_the_study(arguments, found):
    context = compare.command.make_context("compare", ["--plugins", "smo", *arguments])
    assert compare.study_of(context.params, load_registry()).problem_values == found


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--C", "0"], "'0' is not a list of numbers in (0, inf); write for example 1"),
        (["--D-minus", "2"], "'2' is not a list of numbers in (0, 1] or 'none'; write for example 1."),
        (["--s", "1"], "'1' is not a list of numbers in (-inf, 1); write for example -1"),
        (["--class-weight", "heavy"], "'heavy' is not a list of 'none' or 'balanced'; write for example none"),
        (["--epsilon", "nan"], "'nan' is not a list of numbers in [0, inf)"),
    ],
)
def test_what_no_formulation_takes_is_refused(arguments, said):
    with pytest.raises(click.BadParameter) as caught:
        compare.command.make_context("compare", ["--plugins", "smo", *arguments])
    assert said in caught.value.message


def test_an_option_of_several_formulations_takes_what_any_of_them_takes():
    narrow, wide = (float, parameter(0.5, "narrow", gt=0, le=1)), (float | None, parameter(None, "wide", ge=0, lt=9))
    both = option(a=narrow, b=wide)
    assert both.help == "Narrow (a, b)."
    assert both.type.convert("0,1,8.5,none", None, None) == [0.0, 1.0, 8.5, "none"]
    for text in ("9", "-1"):
        with pytest.raises(click.BadParameter, match=r"numbers in \[0, 9\) or 'none'; write for example 0.5"):
            both.type.convert(text, None, None)
    assert option(a=narrow, b=(float, parameter(1.0, "free"))).type.convert("-7", None, None) == [-7.0]


@pytest.mark.parametrize(
    ("kind", "default", "text", "value", "refused"),
    [
        (int, 3, "1,2", [1, 2], "1.5"), (bool, True, "true,false", ["true", "false"], "yes"), (str, "a", "any", ["any"], None),
        (Literal["l", "m"], "l", "m", ["m"], "n"), (float | Literal["scale"], 1.0, "scale,2", ["scale", 2.0], "other"),
    ],
)  # fmt: skip
def test_types_of_parameters(kind, default, text, value, refused):
    type_ = option(a=(kind, parameter(default, "what it is"))).type
    assert type_.convert(text, None, None) == value
    if refused:
        with pytest.raises(click.BadParameter, match="write for example"):
            type_.convert(refused, None, None)


def test_a_parameter_called_like_an_option_of_the_command_is_left_to_selections(tmp_path):
    plugin = tmp_path / "seedy.py"
    plugin.write_text(
        "from dataclasses import dataclass\nfrom harness import CSVC, hookimpl, parameter\n"
        "@dataclass(frozen=True)\nclass Own:\n    C: float = 1.0\n    class_weight: str = 'none'\n    seeds: int = 1\n"
        "class Seedy(CSVC):\n    name = 'seedy'\n    parameter_class = Own\n"
        "@hookimpl\ndef harness_formulations():\n    return [Seedy]\n"
    )
    context = compare.command.make_context(
        "compare", ["--plugins", "smo", "--plugin-path", str(plugin), "--seeds", "0-2"]
    )
    assert list(context.params["seeds"]) == [0, 1, 2]
    (chosen,) = load_registry([plugin]).select_solvers("smo[seeds=2]")
    assert chosen.problem_values == {"seeds": 2}
