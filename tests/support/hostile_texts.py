"""Texts that are scripts to a browser which takes them for anything but text, and a memory that has them in every field."""

from pathlib import Path

from alma import ALMA
from alma.types.custom import CustomMemoryType
from alma_access import Access, TokenFile

RUN = "window.pwned=1"

TEXTS = (
    f"<script>{RUN}</script>",
    f"<ScRiPt>{RUN}</sCrIpT>",
    f"<script src=data:text/javascript,{RUN}></script>",
    f"</script><script>{RUN}</script>",
    f"</title><script>{RUN}</script>",
    f"</textarea><script>{RUN}</script>",
    f"</style><script>{RUN}</script>",
    f"--><script>{RUN}</script>",
    f"]]><script>{RUN}</script>",
    f"<scr<script>ipt>{RUN}</scr</script>ipt>",
    f"<img src=x onerror={RUN}>",
    f"<img src=x onerror='{RUN}'>",
    f'"><img src=x onerror={RUN}>',
    f"'><img src=x onerror={RUN}>",
    f"`><img src=x onerror={RUN}>",
    f"<image src=x onerror={RUN}>",
    f"<img/src=x/onerror={RUN}>",
    f"<img src=x:x onerror&#61;{RUN}>",
    f"<svg onload={RUN}>",
    f"<svg><script>{RUN}</script></svg>",
    f"<svg><animate onbegin={RUN} attributeName=x dur=1s>",
    f"<svg><set onbegin={RUN} attributeName=x>",
    f"<svg><a href='javascript:{RUN}'><text y=20>click</text></a></svg>",
    f"<svg><foreignObject><iframe onload={RUN}></iframe></foreignObject></svg>",
    f"<svg><use href='data:image/svg+xml,<svg id=x onload={RUN}/>#x'></svg>",
    f"<math><mtext></p><img src=x onerror={RUN}></mtext></math>",
    f"<math href='javascript:{RUN}'>click</math>",
    f"<body onload={RUN}>",
    f"<body onpageshow={RUN}>",
    f"<iframe src='javascript:{RUN}'></iframe>",
    f"<iframe srcdoc='<script>parent.{RUN}</script>'></iframe>",
    f"<object data='javascript:{RUN}'></object>",
    f"<embed src='javascript:{RUN}'>",
    f"<a href='javascript:{RUN}'>click</a>",
    f"<a href='java\tscript:{RUN}'>click</a>",
    f"javascript:{RUN}",
    f"JaVaScRiPt:{RUN}//",
    f"data:text/html,<script>{RUN}</script>",
    f"<form action='javascript:{RUN}'><button autofocus>click</button></form>",
    f"<button formaction='javascript:{RUN}'>click</button>",
    f"<input onfocus={RUN} autofocus>",
    f"<input type=image src=x onerror={RUN}>",
    f"<select onfocus={RUN} autofocus></select>",
    f"<textarea onfocus={RUN} autofocus></textarea>",
    f"<details open ontoggle={RUN}>",
    f"<video><source onerror={RUN}></video>",
    f"<audio src=x onerror={RUN}>",
    f"<marquee onstart={RUN}>x</marquee>",
    f"<x contenteditable onfocus={RUN} tabindex=1 id=x>#x</x>",
    f"<div style='animation:x' onanimationstart={RUN}>",
    f"<link rel=stylesheet href='javascript:{RUN}'>",
    f"<link rel=import href='data:text/html,<script>{RUN}</script>'>",
    f"<meta http-equiv=refresh content='0;url=javascript:{RUN}'>",
    "<base href='http://evil.test/'>",
    "<style>@import 'http://evil.test/x.css';*{background:url(http://evil.test/)}</style>",
    f"<template><script>{RUN}</script></template><img src=x onerror={RUN}>",
    f"{{{{constructor.constructor('{RUN}')()}}}}",
    f"${{{RUN}}}",
    f"';{RUN}//",
    f'";{RUN}//\\',
    f"[click](javascript:{RUN})",
    f"![x](x' onerror='{RUN})",
    f"<noscript><p title='</noscript><img src=x onerror={RUN}>'>",
    f"&lt;script&gt;{RUN}&lt;/script&gt;",
)


def fill(config: Path) -> list[list[str]]:
    """Fills a memory with the texts, one in all fields of a memory of each kind, and returns for each text the ids of those that have it.

    Fields that hold one line, or a name, hold the text where they accept it: a name of an agent, a user, a type of task, a session, a kind's
    field, a tool, a run.
    """
    made = []
    with ALMA.from_config(config) as alma:
        alma.register_memory_type(CustomMemoryType("note", {"title": "str", "body": "str"}, ["title", "body"]))
        for number, text in enumerate(TEXTS):
            is_owner = number % 16 == 0  # of outcomes, whose rules are made for each agent and user
            made.append(_add(alma, text, agent=text if is_owner else "helena", user=text if is_owner else None))
    return made


def make_tokens(folder: Path) -> None:
    """Makes tokens that are named as the texts are."""
    tokens = TokenFile(folder)
    for text in TEXTS[::8]:
        if text.isprintable():
            tokens.add(text, Access(agent=text, user_id=text))


def _add(alma: ALMA, text: str, *, agent: str, user: str | None) -> list[str]:
    extra = {"metadata": {"note": text}}
    name = text if text.isprintable() else "maria"
    told = alma.learn(
        agent, text, "failure", text, task_type=name, error_message=text, feedback=text, user_id=user, task_id=name, **extra
    )
    for outcome in ("success", "success", "success"):
        alma.learn(agent, text, outcome, f"{text} again", task_type=name)
    memories = [
        told,
        alma.add_domain_knowledge(name, name, text, name, **extra),
        alma.add_user_preference(name, name, text, name, **extra),
        alma.add_anti_pattern(agent, text, text, text, **extra),
        alma.add_heuristic(agent, text, f"{text} stated", **extra),
        alma.add_conversation([{"role": "user", "content": text, "speaker": text}], agent, name, **extra),
        alma.add("note", agent, title=text, body=text, **extra),
    ]
    with alma.episode(agent=agent, task=text, run_id=name, thread_id=name) as episode:
        episode.step(text, ok=False, error=text, output=text, tool=text)
        episode.end("unverified", strategy=text, error=text, feedback=text)
    return [memory.id for memory in memories]
