"""`alma.testing`: names of the package `alma-testing`, which `alma-core[testing]` installs."""

from typing import TYPE_CHECKING

from alma.extensions import forwarding

if TYPE_CHECKING:  # classes to inherit from, so their types matter
    from alma_testing import *  # noqa: F403

__getattr__ = forwarding("alma.testing", "alma_testing", extra="testing", what="test support is")
