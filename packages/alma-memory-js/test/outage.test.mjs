import assert from "node:assert/strict";
import { it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ALMA } from "alma-memory";
import { Server } from "./serving.mjs";

const WRITES = 200;
const AWAY_MS = 3_000;

it("a server that is killed and away for 3 s during 200 writes has 200 outcomes in the end, none twice", async () => {
  const server = await Server.start();
  try {
    const alma = new ALMA({ ...server.config, projectId: "shop", agent: "helena", logger: { warn() {} } });
    let done = 0;
    let outage;
    const away = async () => {
      await server.end("SIGKILL");
      await sleep(AWAY_MS);
      await server.run();
    };
    const write = async (n) => {
      const { outcome } = await alma.learn({ task: `Task ${n}`, outcome: "success", strategyUsed: `Way ${n}` });
      if (++done === WRITES / 4) outage = away();
      return outcome.id;
    };
    const ids = await Promise.all(Array.from({ length: WRITES }, (_, n) => write(n)));
    assert.ok(outage, "the server was there all the time");
    await outage;
    assert.equal(new Set(ids).size, WRITES);
    const stored = new Map();
    for await (const memory of alma.list({ kind: "outcome", order: "oldest" })) stored.set(memory.id, memory.task_description);
    assert.equal(stored.size, WRITES);
    assert.deepEqual(ids.map((id) => stored.get(id)), ids.map((_, n) => `Task ${n}`));
  } finally {
    await server.stop();
  }
});
