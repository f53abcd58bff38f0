"""Secrets and personal data in texts: found by shape, by the names beside them and by place, and replaced. Pure; see `docs/guides/security.md`."""

from alma.redaction.redactor import Redactor as Redactor
from alma.redaction.redactor import kind_of_placeholder as kind_of_placeholder
from alma.redaction.redactor import placeholders_in as placeholders_in
