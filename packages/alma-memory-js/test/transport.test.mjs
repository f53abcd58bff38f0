import assert from "node:assert/strict";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { after, before, describe, it } from "node:test";
import * as alma_ from "alma-memory";
import { freePort, Server } from "./serving.mjs";

const { ALMA } = alma_;
const LEARNED = { agent: "helena", task: "Test the login form", outcome: "success", strategyUsed: "Empty fields first" };
const quiet = { warn() {} };
let server, borders;

before(async () => {
  server = await Server.start();
  borders = [];
});
after(async () => {
  for (const border of borders) border.closeAllConnections();
  for (const border of borders) border.close();
  await server.stop();
});

/** Returns the address of a border before the server, and the requests that came. `answer` gets what a request is, and a way to pass it on. */
async function border(answer) {
  const requests = [];
  const made = createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    const asked = { method: request.method, path: request.url, headers: request.headers, body: Buffer.concat(parts).toString() };
    requests.push(asked);
    const passOn = async () => {
      const { host: _, connection: __, "content-length": ___, ...headers } = asked.headers;
      const passed = await fetch(server.baseUrl + asked.path, { method: asked.method, headers, ...(asked.body && { body: asked.body }) });
      return { status: passed.status, body: await passed.text() };
    };
    const { status = 200, headers = {}, body = "{}" } = (await answer(requests.length, { response, passOn })) ?? {};
    if (!response.destroyed) response.writeHead(status, { "content-type": "application/json", ...headers }).end(body);
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => made.once("listening", resolve));
  borders.push(made);
  return { baseUrl: `http://127.0.0.1:${made.address().port}`, requests };
}

const client = (baseUrl, config = {}) =>
  new ALMA({ baseUrl, token: server.token, projectId: "shop", retry: { baseDelay: 10, maxDelay: 20 }, logger: quiet, ...config });

const problem = (status, name, headers = {}) => ({ status, headers, body: JSON.stringify({ type: `/problems/${name}`, status, detail: name, request_id: "r1" }) });

describe("tries", () => {
  it("a write whose answer was lost is sent again with its key, and counts once", async () => {
    const { baseUrl, requests } = await border(async (n, { response, passOn }) => {
      const passed = await passOn();
      if (n < 3) response.destroy();
      return passed;
    });
    const { outcome } = await client(baseUrl).learn({ ...LEARNED, agent: "lost" });
    const keys = requests.map((each) => each.headers["idempotency-key"]);
    assert.deepEqual([keys.length, new Set(keys).size], [3, 1]);
    const direct = client(server.baseUrl);
    assert.deepEqual((await direct.stats("lost")).stats.outcomes_count, 1);
    assert.equal((await direct.get(outcome.id, { agent: "lost" })).strategy_used, LEARNED.strategyUsed);
  });

  it("a removal whose answer was lost is done, and one of something unknown is an error", async () => {
    const { baseUrl, requests } = await border(async (n, { response, passOn }) => {
      const passed = await passOn();
      if (n === 1) response.destroy();
      return passed;
    });
    await client(server.baseUrl).tokens.create({ name: "gone" });
    const { tokens } = client(baseUrl);
    assert.equal(await tokens.revoke("gone"), undefined);
    assert.equal(requests.length, 2);
    await assert.rejects(tokens.revoke("gone"), alma_.isNotFoundError);
  });

  it("each call has a key of its own, and a given key is kept", async () => {
    const { baseUrl, requests } = await border((n, { passOn }) => passOn());
    const alma = client(baseUrl);
    await alma.learn({ ...LEARNED, agent: "keys" });
    await alma.learn({ ...LEARNED, agent: "keys" });
    const first = await alma.learn({ ...LEARNED, agent: "keys", idempotencyKey: "mine" });
    const again = await alma.learn({ ...LEARNED, agent: "keys", idempotencyKey: "mine" });
    assert.equal(again.outcome.id, first.outcome.id);
    assert.equal(new Set(requests.map((each) => each.headers["idempotency-key"])).size, 3);
    assert.equal((await alma.stats("keys")).stats.outcomes_count, 3);
  });

  for (const status of [408, 429, 502, 503, 504]) {
    it(`${status} is tried again`, async () => {
      const { baseUrl, requests } = await border((n) => (n === 1 ? { status, headers: { "retry-after": "0" }, body: "<html>" } : { body: '{"names": ["a"]}' }));
      assert.deepEqual(await client(baseUrl).request("GET", "agents"), { names: ["a"] });
      assert.equal(requests.length, 2);
    });
  }

  it("a write is tried again while an earlier try of it runs", async () => {
    const { baseUrl, requests } = await border((n, { passOn }) => (n === 1 ? problem(409, "still-running", { "retry-after": "0" }) : passOn()));
    await client(baseUrl).learn(LEARNED);
    assert.equal(requests.length, 2);
  });

  for (const [status, name, guard] of [
    [400, "unparsable", alma_.isValidationError],
    [401, "unauthorized", alma_.isAuthError],
    [403, "scope-violation", alma_.isScopeViolationError],
    [404, "not-found", alma_.isNotFoundError],
    [409, "conflict", alma_.isConflictError],
    [410, "gone", alma_.isNotFoundError],
    [412, "changed-meanwhile", alma_.isConflictError],
    [422, "validation", alma_.isValidationError],
    [500, "internal", alma_.isServerError],
    [501, "missing-dependency", alma_.isNotImplementedError],
    [507, "disk-full", alma_.isServerError],
  ]) {
    it(`${status} is an error at once`, async () => {
      const { baseUrl, requests } = await border(() => problem(status, name));
      const error = await client(baseUrl).learn(LEARNED).catch((thrown) => thrown);
      assert.ok(guard(error), error.name);
      assert.ok(error instanceof alma_.ALMAError);
      assert.deepEqual([error.statusCode, error.message, error.requestId, requests.length], [status, name, "r1", 1]);
      assert.deepEqual([error.toJSON().code, error.toJSON().message], [error.code, name]);
    });
  }

  it("a read is tried four times, as published, and maxRetries changes that for reads and writes", async () => {
    const { baseUrl, requests } = await border(() => problem(503, "storage"));
    await assert.rejects(client(baseUrl).retrieve({ query: "x", agent: "a" }), { code: "SERVER_ERROR", serverMessage: "storage" });
    assert.equal(requests.length, 4);
    const once = client(baseUrl, { retry: { maxRetries: 1, baseDelay: 1 } });
    await assert.rejects(once.learn(LEARNED), alma_.isServerError);
    assert.equal(requests.length, 6);
  });

  it("calls that would do something else the second time are sent once", async () => {
    const { baseUrl, requests } = await border(() => problem(503, "storage"));
    const alma = client(baseUrl);
    for (const call of [alma.webhooks.rotateSecret("w"), alma.webhooks.test("w"), alma.tokens.create({ name: "t" })]) {
      await assert.rejects(call, alma_.isServerError);
    }
    assert.equal(requests.length, 3);
  });

  it("Retry-After beyond the time of the call is an error that states it", async () => {
    const { baseUrl, requests } = await border(() => problem(429, "rate-limited", { "retry-after": "3600" }));
    await assert.rejects(client(baseUrl).learn(LEARNED), { code: "RATE_LIMIT", retryAfter: 3600 });
    assert.equal(requests.length, 1);
  });

  it("Retry-After makes no try come earlier than the random time that grows", async () => {
    const { baseUrl, requests } = await border(() => problem(503, "storage", { "retry-after": "0" }));
    const slow = client(baseUrl, { retry: { baseDelay: 1e9, maxDelay: 1e9 } });
    await assert.rejects(slow.learn({ ...LEARNED, timeout: 1000 }), alma_.isServerError);
    assert.equal(requests.length, 1);
  });

  it("the time of a call is for all tries together", async () => {
    const { baseUrl, requests } = await border(async (n) => (n === 1 ? problem(503, "storage", { "retry-after": "0" }) : new Promise(() => {})));
    await assert.rejects(client(baseUrl).learn({ ...LEARNED, timeout: 300 }), { code: "TIMEOUT", timeout: 300 });
    assert.equal(requests.length, 2);
  });

  it("a signal ends a call, while it waits for an answer and between tries", async () => {
    const { baseUrl } = await border(async () => new Promise(() => {}));
    const reason = new Error("enough");
    const waiting = new AbortController();
    const call = client(baseUrl).learn({ ...LEARNED, signal: waiting.signal });
    setTimeout(() => waiting.abort(reason), 50);
    await assert.rejects(call, reason);
    await assert.rejects(client(baseUrl).recordFeedback({ memoryId: "m", signal: "used" }, { signal: AbortSignal.abort(reason) }), reason);
    const pausing = new AbortController();
    const logger = { warn: () => pausing.abort(reason) };
    const alone = client(`http://127.0.0.1:${await freePort()}`, { logger, retry: { baseDelay: 60_000, maxDelay: 60_000 }, timeout: 600_000 });
    await assert.rejects(alone.learn({ ...LEARNED, signal: pausing.signal }), reason);
  });

  it("the log says once that the server is away", async () => {
    const lines = [];
    const baseUrl = `http://127.0.0.1:${await freePort()}`;
    const alma = client(baseUrl, { logger: { warn: (line) => lines.push(line) }, retry: { maxRetries: 3, baseDelay: 1 } });
    const error = await alma.learn(LEARNED).catch((thrown) => thrown);
    assert.deepEqual([error.code, error.url], ["CONNECTION_ERROR", baseUrl]);
    assert.match(error.message, /ECONNREFUSED/);
    await assert.rejects(alma.learn(LEARNED), alma_.isConnectionError);
    assert.equal(lines.length, 1);
  });

  it("what cannot be sent, and what is no JSON, is not tried again", async () => {
    const { baseUrl, requests } = await border(() => ({ body: "<html>" }));
    await assert.rejects(client(baseUrl).learn(LEARNED), { code: "SERVER_ERROR" });
    assert.equal(requests.length, 1);
    const round = {};
    round.self = round;
    await assert.rejects(client(baseUrl).checkpoint({ runId: "r", state: round }), TypeError);
    assert.equal(requests.length, 1);
  });
});

describe("tokens", () => {
  it("are not sent to where a server redirects", async () => {
    const target = await border(() => ({}));
    const { baseUrl, requests } = await border(() => ({ status: 307, headers: { location: `${target.baseUrl}/elsewhere` } }));
    await assert.rejects(client(baseUrl).learn(LEARNED), { code: "CONNECTION_ERROR", statusCode: 307 });
    assert.deepEqual([requests.length, target.requests.length], [1, 0]);
  });

  it("are not sent over http to another machine", () => {
    for (const config of [{ token: "t" }, { headers: { authorization: "Bearer t" } }, { token: () => "t" }]) {
      for (const baseUrl of ["http://example.com", "http://10.0.0.1:8765", "http://localhost.example.com", "http://127.0.0.1.example.com"]) {
        assert.throws(() => new ALMA({ baseUrl, ...config }), { code: "VALIDATION_ERROR", field: "baseUrl" });
      }
      for (const baseUrl of ["https://example.com", "http://localhost:8765", "http://127.0.0.1", "http://[::1]:8765"]) new ALMA({ baseUrl, ...config });
    }
    new ALMA({ baseUrl: "http://example.com" });
    assert.throws(() => new ALMA({ baseUrl: "ftp://example.com" }), alma_.isValidationError);
    assert.throws(() => new ALMA({ baseUrl: "https://me:secret@example.com" }), (error) => !JSON.stringify(error).includes("secret"));
  });

  it("come from a function once a call, from headers, or from the environment", async () => {
    const { baseUrl, requests } = await border((n) => (n === 1 ? problem(503, "storage", { "retry-after": "0" }) : {}));
    let count = 0;
    const asking = new ALMA({ baseUrl, logger: quiet, retry: { baseDelay: 1 }, token: async () => `t${++count}` });
    await asking.request("GET", "agents");
    await asking.request("GET", "agents");
    await new ALMA({ baseUrl, headers: { authorization: "Bearer mine" } }).request("GET", "agents");
    process.env.ALMA_TOKEN = "environment";
    await new ALMA({ baseUrl }).request("GET", "agents");
    await new ALMA({ baseUrl, token: "given" }).request("GET", "agents");
    delete process.env.ALMA_TOKEN;
    assert.deepEqual(requests.map((each) => each.headers.authorization), ["t1", "t1", "t2", "mine", "environment", "given"].map((each) => `Bearer ${each}`));
    assert.equal(requests.length, 6);
  });

  it("of a function that fails, or never answers, are an error within the time of the call", async () => {
    const { baseUrl, requests } = await border(() => ({}));
    const ask = (token, options = {}) => new ALMA({ baseUrl, token, logger: quiet }).request("GET", "agents", options);
    const cause = new Error("no vault");
    const raise = () => {
      throw cause;
    };
    for (const token of [raise, async () => raise()]) await assert.rejects(ask(token), { code: "AUTH", message: "no token: no vault", cause });
    const never = () => new Promise(() => {});
    await assert.rejects(ask(never, { timeout: 50 }), { code: "TIMEOUT", timeout: 50 });
    const stop = new AbortController();
    const reason = new Error("enough");
    const call = ask(never, { signal: stop.signal });
    stop.abort(reason);
    await assert.rejects(call, reason);
    assert.equal(requests.length, 0);
  });

  it("that change between two tries do not make a write count twice", async () => {
    const { baseUrl } = await border(async (n, { response, passOn }) => {
      const passed = await passOn();
      if (n === 1) response.destroy();
      return passed;
    });
    const { secret: other } = await client(server.baseUrl).tokens.create({ name: "next" });
    const tokens = [server.token, other];
    await client(baseUrl, { token: () => tokens.shift() ?? other }).learn({ ...LEARNED, agent: "rotated" });
    assert.equal((await client(server.baseUrl).stats("rotated")).stats.outcomes_count, 1);
  });
});

describe("errors", () => {
  it("name the argument, the agent and what was not found", async () => {
    const alma = client(server.baseUrl);
    await assert.rejects(alma.retrieve({ query: "x", agent: "a", topK: 0 }), { code: "VALIDATION_ERROR", field: "topK", value: 0, statusCode: 422 });
    await assert.rejects(alma.retrieve({ query: " ", agent: "a" }), (error) => alma_.isValidationError(error) && /empty/.test(error.message));
    await assert.rejects(alma.learnMany([LEARNED, { ...LEARNED, outcome: "succes" }]), { field: "items.1.outcome" });
    await assert.rejects(alma.addKnowledge({ agent: "junior", domain: "payments", fact: "f" }), { code: "SCOPE_VIOLATION", agent: "junior", domain: "payments" });
    const error = await alma.get("none", { agent: "a" }).catch((thrown) => thrown);
    assert.deepEqual([error.code, error.resourceType, error.resourceId, error.name], ["NOT_FOUND", "memory", "none", "NotFoundError"]);
    assert.ok(error.requestId);
    assert.equal(error.problem.type, "/problems/not-found");
  });

  it("are those of a proxy, too, which states them in its own way", async () => {
    for (const errors of [[{ detail: "too short" }], [null], []]) {
      const { baseUrl } = await border(() => ({ status: 422, body: JSON.stringify({ detail: "refused", errors }) }));
      await assert.rejects(client(baseUrl).learn(LEARNED), { code: "VALIDATION_ERROR", message: "refused", statusCode: 422 });
    }
  });

  it("are known to another copy of the package", async () => {
    const other = createRequire(import.meta.url)("alma-memory");
    const error = await client(server.baseUrl).get("none", { agent: "a" }).catch((thrown) => thrown);
    assert.ok(!(error instanceof other.ALMAError));
    assert.ok(other.isALMAError(error) && other.isNotFoundError(error) && !other.isConflictError(error));
    assert.ok(!other.isALMAError(Object.assign(new Error(), { code: "NOT_FOUND" })) && !other.isNotFoundError(null));
  });
});

describe("clients", () => {
  it("the constructor of a memory inside the program is accepted, with a notice", async () => {
    const lines = [];
    const alma = new ALMA({ ...server.config, storage: "sqlite", embeddingProvider: "local", projectId: "shop", logger: { warn: (line) => lines.push(line) } });
    assert.match(lines.join(), /storage and embeddingProvider/);
    await alma.withAgent("inside").learn({ ...LEARNED, agent: undefined });
    assert.equal(lines.length, 1);
  });

  it("agent, user and project of a client are those of its calls, where they name none", async () => {
    const { baseUrl, requests } = await border((n, { passOn }) => passOn());
    const alma = client(`${baseUrl}/`).withAgent("iris").withUser("maria");
    await alma.learn({ ...LEARNED, agent: undefined });
    await alma.learn({ ...LEARNED, agent: "helena", userId: "anna" });
    await alma.strategies({ task: "Test" });
    await new ALMA({ baseUrl, token: server.token }).request("GET", "stats");
    const said = requests.slice(0, 2).map((each) => JSON.parse(each.body));
    assert.deepEqual(said.map((each) => [each.agent, each.user_id]), [["iris", "maria"], ["helena", "anna"]]);
    assert.deepEqual(requests.map((each) => each.path), [
      "/v1/projects/shop/learn",
      "/v1/projects/shop/learn",
      "/v1/projects/shop/strategies?task=Test&agent=iris&user_id=maria",
      "/v1/stats",
    ]);
  });
});
