"""Keyword arguments under former and unknown names."""

from __future__ import annotations

import pytest

from robustforge.arguments import named_arguments
from robustforge.errors import ArgumentError


@named_arguments(outside="out_of_bounds")
def call(x, out_of_bounds="evaluate"):
    return x, out_of_bounds


def test_a_former_name_works_with_a_warning():
    with pytest.warns(DeprecationWarning, match=r"`outside=` was renamed to `out_of_bounds=`") as warned:
        assert call(1, outside="clip") == (1, "clip")
    assert warned[0].filename == __file__  # points to the caller, not to the package


def test_both_names_are_refused():
    with pytest.raises(ArgumentError, match=r"`out_of_bounds=` must be given once; .*`outside=`"):
        call(1, outside="clip", out_of_bounds="clip")


def test_an_unknown_name_is_explained():
    with pytest.raises(ArgumentError, match=r"Did you mean `out_of_bounds=`"):
        call(1, out_of_bound="clip")
