"""`alma.encryption`: names of the package `alma-encryption`, which `alma-core[encryption]` installs."""

from alma.extensions import forwarding

__getattr__ = forwarding("alma.encryption", "alma_encryption", extra="encryption", what="encryption is")
