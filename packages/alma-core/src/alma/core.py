"""`ALMA` under the name of the module that alma-memory has it in. Use `from alma import ALMA`."""

from alma.memory.alma import ALMA

__all__ = ["ALMA"]
