"""A process that writes to a memory and delivers its webhooks until it is killed. Arguments: folder, writes, first number, `write` or `deliver`."""

import sys
import time

from alma import ALMA
from alma_events.webhooks import WebhookManager


def main(folder: str, writes: int, first: int, part: str) -> None:
    with ALMA.open(folder, project_id="shop", embedding_provider="hash") as alma:
        manager = WebhookManager(alma, lease_seconds=1.0)
        manager.start()
        kept = []
        for number in range(first, first + (writes if part == "write" else 0)):
            kept.append(alma.learn(agent="anna", task=f"task {number}", outcome=True).id)
            if number % 5 == 4:
                alma.forget(memory_ids=[kept[-1]])
            print(number, flush=True)
        print("done", flush=True)
        while True:
            time.sleep(1)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
