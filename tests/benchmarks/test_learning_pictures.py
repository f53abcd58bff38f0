"""The pictures of learning are well-formed, and show what they are given."""

from xml.etree import ElementTree

import numpy as np
from benchmarks.learning_pictures import CASES, COLOURS, coverage_picture, regret_picture
from benchmarks.simulation.wording_figures import COVERAGE_LIMITS

SVG = "{http://www.w3.org/2000/svg}"


def texts_of(picture: str) -> set[str]:
    return {one.text or "" for one in ElementTree.fromstring(picture).iter(f"{SVG}text")}


def test_the_picture_of_regret_has_a_line_for_each_policy_which_ends_at_its_mean() -> None:
    curves = {name: np.cumsum(np.full((3, 500), place * 0.095), axis=1) for place, name in enumerate(COLOURS, 1)}
    picture = ElementTree.fromstring(regret_picture(curves))
    ends = [line.attrib["points"].split()[-1] for line in picture.iter(f"{SVG}polyline")]
    heights = [float(end.split(",")[1]) for end in ends]
    assert set(COLOURS) <= texts_of(regret_picture(curves))
    assert heights == sorted(heights, reverse=True)  # on a screen, more is further up
    assert heights[-1] == 34.5  # 190 of 200, between 310 and 20


def test_the_picture_of_coverage_names_each_case() -> None:
    covered = {what: [1.0, 0.5, 1.0] for what in COVERAGE_LIMITS}
    assert {CASES.get(what, what) for what in COVERAGE_LIMITS} <= texts_of(coverage_picture(covered, 1))
