"""Tokens that say by their shape what they are.

Shapes are from the vendors' public documentation of their tokens, and from GitHub's list of what its secret scanning recognises
(https://docs.github.com/code-security/reference/secret-security/supported-secret-scanning-patterns). Among the vendors' pages:
https://docs.github.com/authentication/keeping-your-account-and-data-secure/about-authentication-to-github, https://docs.gitlab.com/security/tokens,
https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html, https://docs.stripe.com/keys, https://docs.slack.dev/authentication/tokens,
https://developer.hashicorp.com/vault/docs/concepts/tokens, https://docs.npmjs.com/about-access-tokens, https://shopify.dev/docs/apps/build/authentication.
JWT: RFC 7519. PEM: RFC 7468.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from alma_guard.values import is_drawn

SHORTEST = 15
"""No token is shorter."""

_PEM_HINT = "PRIVATE KEY"


@dataclass(frozen=True)
class _Shape:
    """A kind of token: texts one of which stands in every such token, without which nothing is searched for, and what it looks like.

    A loose one names of things may have, too, unless what follows its beginning was drawn by chance.
    """

    kind: str
    hints: str
    shape: str
    is_loose: bool = False
    hint_list: list[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "hint_list", self.hints.split("|"))

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Compiled when it is needed first."""
        return re.compile(rf"(?<![A-Za-z0-9]){self.shape}", re.VERBOSE)


_SHAPES = (
    _Shape(
        "private_key",
        _PEM_HINT,
        r"-----BEGIN\ (?:[A-Z0-9]+\ ){0,3}PRIVATE\ KEY(?:\ BLOCK)?-----(?:(?!-----END)[\s\S]){0,20000}(?:-----END\ [A-Z0-9\ ]{0,40}-----)?",
    ),
    _Shape("age_key", "AGE-SECRET-KEY-", "AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
    _Shape("jwt", "eyJ", r"eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*){1,3}"),
    _Shape("github_token", "ghp_|gho_|ghu_|ghs_|ghr_|github_pat_", "(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{40,})"),
    _Shape("gitlab_token", "gl", r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct)-[\w-]{18,}(?:\.[\w-]+)*"),
    _Shape("aws_key", "AKIA|ASIA|ABIA|ACCA", "A(?:KI|SI|BI|CC)A[A-Z0-9]{16}"),
    _Shape("google_key", "AIza|ya29.|GOCSPX-", r"(?:AIza[\w-]{35}|ya29\.[\w-]{20,}(?:\.[\w-]+)*|GOCSPX-[\w-]{20,})"),
    _Shape("anthropic_key", "sk-ant-", r"sk-ant-[\w-]{20,}"),
    _Shape("openai_key", "sk-", r"sk-(?!ant-)[\w-]{20,}", is_loose=True),
    _Shape("slack_token", "xox|xapp-|xwfp-", r"(?:xox[a-z](?:\.xox[a-z])?|xapp|xwfp)-[A-Za-z0-9-]{10,}"),
    _Shape(
        "webhook_url",
        "hooks.|/webhooks/|webhook.office",
        r"""https://(?:hooks\.slack\.com/(?:services|workflows|triggers)|hooks\.zapier\.com/hooks/catch|(?:\w+\.)?discord(?:app)?\.com/api/webhooks
          |[\w.-]+\.webhook\.office\.com/webhook\w*)/[\w/@=-]{16,}""",
    ),
    _Shape("stripe_key", "_live_|_test_|whsec_", "(?:[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/]{24,}={0,2})"),
    _Shape("braintree_token", "access_token$", r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}"),
    _Shape("nuget_key", "oy2", "oy2[a-z0-9]{43}(?![A-Za-z0-9])"),
    _Shape("firebase_key", ":APA91b", r"AAAA[\w-]{7}:APA91b[\w-]{100,}"),
    _Shape(
        "url_signature",
        "-Signature=",
        "(?<=[?&]X-(?:Amz|Oss)-Signature=)[0-9a-f]{64,}|(?<=[?&]X-Goog-Signature=)[0-9a-f]{64,}",
    ),
    _Shape("npm_token", "npm_", "npm_[A-Za-z0-9]{30,}"),
    _Shape("pypi_token", "pypi-", r"pypi-[\w-]{40,}"),
    _Shape("vault_token", "hvs.|hvb.|hvr.", r"hv[sbr]\.[\w-]{20,}"),
    _Shape("terraform_token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,}"),
    _Shape("azure_secret", "Q~", r"[\w~.-]{3}\dQ~[\w~.-]{31,34}"),
    _Shape("azure_signature", "sig=", r"(?<=[?&]sig=)[A-Za-z0-9%+/]{40,}={0,2}"),
    _Shape("sendgrid_key", "SG.", r"SG\.[\w-]{16,}\.[\w-]{32,}"),
    _Shape("mailchimp_key", "-us", r"[0-9a-f]{32}-us\d{1,2}"),
    _Shape("mailgun_key", "key-", "key-[0-9a-f]{32}"),
    _Shape("twilio_key", "SK", "SK[0-9a-f]{32}"),
    _Shape("databricks_token", "dapi", r"dapi[0-9a-f]{32}(?:-\d)?"),
    _Shape("huggingface_token", "hf_|api_org_", "(?:hf_|api_org_)[A-Za-z0-9]{30,}"),
    _Shape("telegram_token", ":AA", r"\d{7,12}:AA[\w-]{33}"),
    _Shape("discord_token", ".", r"[MNO][\w-]{22,27}\.[\w-]{6}\.[\w-]{27,40}"),
    _Shape("alibaba_key", "LTAI", "LTAI[A-Za-z0-9]{16,24}"),
    _Shape("facebook_token", "EAA", "EAA[A-Za-z0-9]{60,}"),
    _Shape("square_token", "sq0", r"sq0(?:atp|csp|idp)-[\w-]{22,}"),
    _Shape("dynatrace_token", "dt0", r"dt0[a-z]\d{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    _Shape("openshift_token", "sha256~", r"sha256~[\w-]{43}"),
    _Shape(
        "api_key",
        "_",
        r"""(?:gsk|r8|fw|lsv2_(?:pt|sk)|pcsk|sh(?:pat|pss|pca|ppa)|do[opr]_v1|dckr_[a-z]+|nfp|rubygems|ntn|lin_(?:api|oauth)|fig[duo][a-z]{0,2}|sntry[su]
          |gl(?:c|sa)|ph[cx]|sgp(?:_[a-z0-9]{16})?|duffel_(?:test|live)|shippo_(?:test|live)|pscale_(?:tkn|pw|oauth)|tfp|CLOJARS|rdme|sm_aat|sbp|sb_secret
          |fo1|fm[12]|aio|pnu|ops|whk|cf(?:at|ut|k)|ddp)_(?=[^\s"']{0,60}\d)[\w.=+/~-]{18,}""",
        is_loose=True,
    ),
    _Shape(
        "api_key",
        "-",
        r"""(?:pplx|xai|nvapi|tvly|pul|PMAK|NR(?:AK|JS|II|AA)|pat-(?:na|eu)\d|HRKU|FLWSECK(?:_TEST)?|API|ico|tk-us|tskey-\w+|fio-u|v1\.0)-
            (?=[^\s"']{0,60}\d)[\w.=+/~-]{18,}""",
        is_loose=True,
    ),
    _Shape(
        "api_key",
        "dp.|ATATT|ATCTT|ATBB|EZ|AKCp|pat|k.eyJ|sl.|t1.|cio",
        r"""(?:dp\.(?:pt|st(?:\.[\w-]+)?|ct|sa|scim|audit)\.|ATATT3|ATCTT3|ATBB|EZ[AT]K|AKCp|pat[A-Za-z0-9]{14}\.|[ps]k\.(?=eyJ)|sl\.|t1\.(?=[A-Z])|cio)
            (?=[^\s"']{0,60}\d)[\w.=+/~-]{18,}""",
        is_loose=True,
    ),
)


def long_words(text: str) -> list[str]:
    """Returns the words of a text that are long enough for a token."""
    return [word for word in text.split() if len(word) >= SHORTEST]


def tokens(text: str, words: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Returns where such tokens begin and end in a text with these long words, and their kinds."""
    searched = "\n".join(words)
    if _PEM_HINT in text:
        searched += _PEM_HINT
    if not searched:
        return
    for shape in _SHAPES:
        if any(map(searched.__contains__, shape.hint_list)):
            for found in shape.pattern.finditer(text):
                if not shape.is_loose or is_drawn(found[0]):
                    yield found.start(), found.end(), shape.kind
