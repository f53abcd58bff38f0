// What every entry does, whatever the framework: `play` runs an agent of it, with a scripted model and the tool `deploy`.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { after, before, describe, it } from "node:test";
import { ALMA } from "alma-memory";
import { freePort, Server } from "../serving.mjs";

/** Server of a file's tests, and a client of it. */
export let server;
export let client;
before(async () => {
  server = await Server.start();
  client = new ALMA({ ...server.config, projectId: "shop" });
});
after(() => server.stop());

/** Time for a call of the memory, in milliseconds, on a machine that does much else. */
const PATIENCE = 30_000;

/** Returns options by which runs report themselves, and a function that waits for the next report. */
export function reporting(options = {}) {
  const reports = [];
  const next = async () => {
    while (!reports.length) await new Promise(setImmediate);
    return reports.shift();
  };
  return { options: { agent: "helena", timeout: PATIENCE, onRun: (report) => reports.push(report), ...options }, reports, next };
}

/** Returns the record of an episode. */
export const recordOf = ({ episodeId, agent, userId }) =>
  client.request("GET", `episodes/${episodeId}`, { query: { agent, user_id: userId } });

/** Tool of the agents: it raises for one way. */
export async function deploy({ way }) {
  if (way === "rolling") throw new Error("502 bad gateway");
  return `live by ${way}`;
}

/** Returns a model that deploys in these ways, one after the other, and then answers. It keeps the prompts that it is asked. */
export function scripted(ways, answer = "It is live.") {
  const prompts = [];
  const turn = ({ text, results }) => {
    prompts.push(text);
    if (results < ways.length) return { id: `call-${results}`, way: ways[results] };
    return typeof answer === "function" ? answer(text) : answer;
  };
  return { turn, prompts };
}

/** Beginning of the notes, which declares them data. */
export const FENCE = /<<< ALMA memory: notes[^>]*not instructions/g;

/** Tests an entry. `play({client, options, task, turn})` resolves to the answer of a run. */
export function contract(name, play) {
  describe(name, () => {
    /** Plays a run and returns what it left. */
    async function run({ task = "Deploy the auth service", ways = [], answer, as = client, ...options }) {
      const { options: reported, next } = reporting({ agent: name, ...options });
      const model = scripted(ways, answer);
      const said = await play({ client: as, options: reported, task, turn: model.turn });
      const report = as === client ? await next() : undefined;
      return { said, prompts: model.prompts, report, record: report && (await recordOf(report)) };
    }

    it("shows the third run what failed twice, as notes", async () => {
      const answer = "I could not deploy it.";
      const first = await run({ ways: ["rolling"], answer });
      await run({ ways: ["rolling"], answer });
      const third = await run({ ways: ["rolling"], answer });
      assert.equal(third.said, answer);
      assert.equal(first.prompts[0].match(FENCE), null);
      assert.match(third.prompts[0], /rolling.*502 bad gateway/s);
      assert.deepEqual(third.prompts.map((text) => text.match(FENCE)?.length), [1, 1], "each model call is shown the notes, once");
    });

    it("records the calls, and leaves a run unverified that nobody judged", async () => {
      const { record, report } = await run({ agent: `vera of ${name}`, task: "Deploy the cart", ways: ["rolling", "blue-green"] });
      assert.deepEqual(
        record.steps.map(({ action, ok, tool }) => [action, ok, tool]),
        [
          ['deploy(way="rolling")', false, "deploy"],
          ['deploy(way="blue-green")', true, "deploy"],
        ],
      );
      assert.match(record.steps[0].error, /502 bad gateway/);
      assert.match(record.steps[1].output, /live by blue-green/);
      assert.deepEqual([record.agent, record.task, record.outcome], [`vera of ${name}`, "Deploy the cart", "unverified"]);
      assert.equal(record.strategy, 'deploy(way="blue-green")');
      assert.deepEqual([report.answer, report.outcome], ["It is live.", "unverified"]);
    });

    it("an answer is no proof: a run whose last call failed is neither a success nor credited", async () => {
      const { record } = await run({ agent: `vera of ${name}`, task: "Deploy the shop", ways: ["blue-green", "rolling"] });
      assert.deepEqual([record.outcome, record.strategy], ["unverified", null]);
    });

    it("records the verdict of the caller with its reason, and blames the call that failed", async () => {
      const judged = [];
      const verdict = (finished) => {
        judged.push(finished.answer);
        return { outcome: finished.answer.includes("live"), reason: "the page answers" };
      };
      const good = await run({ agent: `mia of ${name}`, task: "Deploy the blog", ways: ["blue-green"], verdict });
      const bad = await run({ agent: `mia of ${name}`, task: "Deploy the blog", ways: ["rolling"], answer: "No.", verdict });
      assert.deepEqual(judged, ["It is live.", "No."]);
      assert.deepEqual([good.record.outcome, good.record.strategy], ["success", 'deploy(way="blue-green")']);
      assert.deepEqual([bad.record.outcome, bad.record.strategy], ["failure", 'deploy(way="rolling")']);
      const { prompt } = await client.retrieve({ query: "Deploy the blog", agent: `mia of ${name}` });
      assert.match(prompt, /blue-green/);
    });

    it("a verdict that raises leaves the run unverified", async () => {
      const verdict = () => {
        throw new Error("no judge");
      };
      const lines = [];
      const as = new ALMA({ ...server.config, projectId: "shop", logger: { warn: (line) => lines.push(line) } });
      const { said } = await run({ agent: `ada of ${name}`, as, ways: [], verdict });
      assert.equal(said, "It is live.");
      assert.equal(lines.length, 1);
    });

    it("functions of the caller that fail, or are asynchronous, cost a line of the log and nothing else", async () => {
      const raise = () => {
        throw new Error("no metrics");
      };
      const kinds = [
        { onRun: async () => raise() },
        { onRun: raise },
        { toolOutcome: async () => raise() },
        { toolOutcome: async () => true },
        { userId: raise },
        { taskType: raise },
      ];
      for (const given of kinds) {
        const lines = [];
        const as = new ALMA({ ...server.config, projectId: "shop", logger: { warn: (line) => lines.push(line) } });
        const reports = [];
        const onRun = (report) => reports.push(report);
        assert.equal((await run({ agent: `lea of ${name}`, as, ways: given.toolOutcome ? ["blue-green"] : [], onRun, ...given })).said, "It is live.");
        while (!lines.length) await new Promise(setImmediate);
        assert.equal(lines.length, 1, lines.join("\n"));
        if (given.userId) assert.deepEqual(reports, [], "a run whose user is not known is not recorded for no user");
        if (!given.toolOutcome) continue;
        while (!reports.length) await new Promise(setImmediate);
        assert.equal((await recordOf(reports[0])).steps[0].ok, null);
      }
    });

    it("a verdict of nothing leaves the run unverified", async () => {
      assert.equal((await run({ verdict: () => null })).record.outcome, "unverified");
    });

    it("counts the memories that the model cites as used", async () => {
      await client.addKnowledge({ agent: `iris of ${name}`, domain: "deploy the mail service", fact: "Deploy the mail service at night" });
      const cite = (text) => `At night, as ${/\[[A-Z]+\d*\]/.exec(text)} says.`;
      const { record } = await run({ agent: `iris of ${name}`, task: "Deploy the mail service", answer: cite });
      assert.deepEqual(record.shown.map(({ used }) => used), [true]);
    });

    it("keeps runs apart that go on at the same time, and what one user said from another", async () => {
      const users = ["ann", "bob", "cleo", "dan", "eve"];
      await Promise.all(users.map((userId) => client.addPreference({ userId, category: "deploy", preference: `Deploy only for ${userId}-inc` })));
      const runs = await Promise.all(
        users.map((userId, place) =>
          run({ userId, task: `Deploy number ${place} of the service`, ways: [`way-${userId}`, "blue-green"].slice(0, 1 + (place % 2)) }),
        ),
      );
      runs.forEach(({ record, prompts, report }, place) => {
        const userId = users[place];
        assert.deepEqual([record.user_id, report.userId, record.task], [userId, userId, `Deploy number ${place} of the service`]);
        assert.equal(record.steps[0].action, `deploy(way="way-${userId}")`);
        assert.equal(record.steps.length, 1 + (place % 2));
        assert.deepEqual(users.filter((each) => prompts.join().includes(`${each}-inc`)), [userId]);
      });
    });

    it("goes on without a memory that is away, and says so once", async () => {
      const lines = [];
      const as = new ALMA({ baseUrl: `http://127.0.0.1:${await freePort()}`, projectId: "shop", logger: { warn: (line) => lines.push(line) } });
      const { said, prompts } = await run({ as, ways: ["rolling", "blue-green"] });
      assert.equal(said, "It is live.");
      assert.equal(prompts.length, 3);
      assert.equal(lines.length, 1, lines.join("\n"));
    });

    it("goes on without a memory that accepts connections and does not answer", async () => {
      const lines = [];
      const silent = createServer().listen(0, "127.0.0.1");
      let asked = 0;
      silent.on("connection", () => asked++);
      await once(silent, "listening");
      const as = new ALMA({ baseUrl: `http://127.0.0.1:${silent.address().port}`, projectId: "shop", logger: { warn: (line) => lines.push(line) } });
      assert.equal((await run({ as, ways: ["blue-green"], timeout: 200 })).said, "It is live.");
      silent.close();
      assert.deepEqual([lines.length, asked], [1, 1], "it is asked once, and said once");
    });

    it("goes on when the memory ends in the middle of a run, and ends the run when it is back", async () => {
      const lines = [];
      const as = new ALMA({ ...server.config, projectId: "shop", logger: { warn: (line) => lines.push(line) } });
      const { options, next } = reporting({ agent: `omar of ${name}`, timeout: 5000 });
      const turn = async ({ results }) => {
        if (results === 1) await server.end("SIGKILL");
        if (results === 2) await server.run();
        return results < 2 ? { id: `call-${results}`, way: "blue-green" } : "It is live.";
      };
      assert.equal(await play({ client: as, options, task: "Deploy the radio", turn }), "It is live.");
      const { status, outcome, steps } = await recordOf(await next());
      assert.deepEqual([status, outcome, steps.length], ["ended", "unverified", 1]);
      assert.equal(lines.filter((line) => line.includes("goes on without memory")).length, 1, lines.join("\n"));
    });

    it("gives the caller the error of its model, and blames no strategy for it", async () => {
      const { options, next } = reporting({ agent: `olga of ${name}` });
      const turn = ({ results }) => {
        if (results) throw new Error("the model is down");
        return { id: "call-0", way: "blue-green" };
      };
      await assert.rejects(async () => play({ client, options, task: "Deploy the forum", turn }), /model is down/);
      const record = await recordOf(await next());
      assert.deepEqual([record.outcome, record.strategy, record.steps.length], ["failure", null, 1]);
    });
  });
}
