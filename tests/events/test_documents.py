"""The pages of events and webhooks run as written, the receiver in JavaScript too where Node is installed."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from alma import ALMA
from alma_events.webhooks import WebhookConfig, WebhookManager
from documents import ROOT, documents, name_of, run_blocks
from run_document import blocks
from webhook_receiver import receiving

WEBHOOKS = ROOT / "docs" / "guides" / "webhooks.md"
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
NODE = shutil.which("node")


@pytest.mark.slow
@pytest.mark.parametrize("document", documents("events"), ids=name_of)
def test_the_blocks_of_a_page_run_as_written(document: Path, tmp_path: Path) -> None:
    run_blocks(document, tmp_path)


def script_of_the_page() -> str:
    (script,) = [block.text for block in blocks(WEBHOOKS.read_text("utf-8")) if block.language == "js"]
    return script


@contextmanager
def javascript_receiver(folder: Path, secret: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """Runs the receiver of the page, and yields its address."""
    script = folder / "receiver.mjs"
    script.write_text(script_of_the_page(), "utf-8")
    assert NODE is not None
    env = {**os.environ, "WEBHOOK_SECRET": secret, "PORT": "0"}
    with subprocess.Popen([NODE, str(script)], stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().split()[-1]}/alma", process
        finally:
            process.kill()


@pytest.mark.slow
@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_the_receiver_in_javascript_accepts_what_is_signed_and_nothing_else(tmp_path: Path) -> None:
    with (
        javascript_receiver(tmp_path, SECRET) as (url, process),
        ALMA.open(tmp_path, project_id="shop", embedding_provider="hash") as alma,
    ):
        manager = WebhookManager(alma)
        right, wrong = (
            manager.add_webhook(WebhookConfig(url, ["memory.created"], secret, allow_http=True, allow=["127.0.0.1"]))
            for secret in (SECRET, "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
        )
        assert manager.test(right.id).status == 204
        assert manager.test(wrong.id).status == 401
        manager.start()
        made = alma.learn(agent="anna", task="Übung in Zürich", outcome=True)
        assert process.stdout is not None
        lines = [process.stdout.readline().split() for _ in range(2)]
        manager.stop()
        assert ["memory.created", made.id] in lines


VERIFY = """
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
const require = createRequire(process.argv[2] + "/");
const { Webhook } = require("standardwebhooks");
const { body, headers, secret } = JSON.parse(readFileSync(0, "utf8"));
console.log(new Webhook(secret).verify(body, headers).type);
"""


@pytest.fixture(scope="session")
def standardwebhooks_of_npm() -> Path:
    """Returns the folder of a project that has the npm package, which `ALMA_NODE_MODULES` names."""
    folder = os.environ.get("ALMA_NODE_MODULES")
    if NODE is None or not folder or not (Path(folder) / "node_modules" / "standardwebhooks").is_dir():
        pytest.skip(
            "node or the npm package standardwebhooks is not installed; ALMA_NODE_MODULES names the folder of one that is"
        )
    return Path(folder)


def test_the_library_of_standard_webhooks_for_javascript_verifies(standardwebhooks_of_npm: Path, tmp_path: Path) -> None:
    with receiving() as receiver, ALMA.open(tmp_path, project_id="shop", embedding_provider="hash") as alma:
        manager = WebhookManager(alma)
        endpoint = manager.add_webhook(WebhookConfig(receiver.url, secret=SECRET, allow_http=True, allow=["127.0.0.1"]))
        manager.test(endpoint.id)
        (got,) = receiver.got
    given = {"body": got.body.decode(), "headers": dict(got.headers), "secret": SECRET}
    script = tmp_path / "verify.mjs"
    script.write_text(VERIFY, "utf-8")
    assert NODE is not None
    done = subprocess.run(
        [NODE, str(script), str(standardwebhooks_of_npm)], input=json.dumps(given), capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "webhook.test", done.stderr
