import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { ALMA, isAuthError, isConnectionError, isValidationError } from "alma-memory";
import { freePort, Server } from "./serving.mjs";

const RESTARTS = 5;
const quiet = { warn() {} };
let server, alma;

before(async () => {
  server = await Server.start();
  alma = new ALMA({ ...server.config, projectId: "shop", agent: "helena", logger: quiet });
});
after(() => server.stop());

const learn = (task) => alma.learn({ task, outcome: "success", strategyUsed: "As ever" });
const position = (event) => `${event.seq}.${event.index}`;

async function collected(events) {
  const all = [];
  for await (const event of events) all.push(event);
  return all;
}

it("a stream goes through five restarts of the server without a gap or a repeat", async () => {
  const ending = new AbortController();
  const stream = alma.events({ types: ["memory.created"], signal: ending.signal, after: 0 });
  const seen = [];
  let arrived = () => {};
  const reading = (async () => {
    for await (const event of stream) {
      seen.push(event);
      assert.equal(stream.position, position(event));
      arrived();
    }
  })();
  const ids = [];
  const write = async (n) => ids.push((await learn(`Task ${n}`)).outcome.id);
  await write(0);
  while (!seen.length) await new Promise((resolve) => (arrived = resolve)); // a stream that never was open gives up
  for (let restart = 0; restart < RESTARTS; restart++) {
    const writing = Promise.all([1, 2, 3].map(write));
    await server.end(restart % 2 ? "SIGKILL" : "SIGTERM");
    await server.run();
    await writing;
    await write(restart);
  }
  while (seen.length < ids.length) await new Promise((resolve) => (arrived = resolve));
  ending.abort();
  await reading;
  const created = seen.filter((event) => event.memory_type === "outcome");
  assert.deepEqual(created.map((event) => event.memory_id).sort(), ids.sort());
  const replayed = await collected(alma.events({ types: ["memory.created"], follow: false }));
  assert.deepEqual(seen.map((event) => event.id), replayed.map((event) => event.id));
});

it("a stream without a position begins now, and with one behind it", async () => {
  await learn("Before");
  const [last] = (await collected(alma.events({ follow: false }))).slice(-1);
  const stream = alma.events();
  const next = stream[Symbol.asyncIterator]();
  const first = next.next();
  while (stream.position === undefined) await new Promise((resolve) => setTimeout(resolve, 10));
  const { outcome } = await learn("After");
  assert.equal((await first).value.memory_id, outcome.id);
  await next.return();
  for await (const event of alma.events({ after: position(last), payload: "full", kinds: ["outcome"], agents: ["helena"] })) {
    assert.equal(event.memory_id, outcome.id);
    assert.equal(event.payload.memory.task_description, "After");
    break;
  }
});

it("pages hold all events, however many, and the position behind them", async () => {
  const before = alma.events({ follow: false });
  await collected(before);
  await alma.learnMany(Array.from({ length: 450 }, (_, n) => ({ task: `Task ${n}`, outcome: "success", strategyUsed: "As ever" })));
  const pages = alma.events({ follow: false, after: before.position, types: ["memory.created"] });
  const ids = (await collected(pages)).map((event) => event.memory_id);
  assert.deepEqual([ids.length, new Set(ids).size], [450, 450]);
  assert.deepEqual(await collected(alma.events({ follow: false, after: pages.position })), []);
});

it("a stream that is refused rejects, at the beginning and later", async () => {
  const stream = (config) => collected(new ALMA({ ...server.config, logger: quiet, ...config }).events());
  await assert.rejects(stream({ token: "alma_wrong" }), isAuthError);
  const nowhere = { baseUrl: `http://127.0.0.1:${await freePort()}`, retry: { baseDelay: 1 } };
  await assert.rejects(stream(nowhere), isConnectionError);
  await assert.rejects(collected(alma.events({ types: ["memory.unknown"] })), isValidationError);
  await assert.rejects(collected(alma.events({ after: "9999.0" })), { code: "CONFLICT" });
  const { secret } = await alma.tokens.create({ name: "for-events", rights: ["events", "read"] });
  const events = new ALMA({ ...server.config, token: secret, logger: quiet }).events();
  const ended = assert.rejects(collected(events), isAuthError);
  while (events.position === undefined) await new Promise((resolve) => setTimeout(resolve, 10));
  await alma.tokens.revoke("for-events");
  await learn("The stream of the revoked token ends with this event");
  await ended;
});
