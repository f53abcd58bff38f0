import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { describe, it } from "node:test";
import { Agent, handoff, MemorySession, OutputGuardrailTripwireTriggered, Runner, setTracingDisabled, tool, Usage } from "@openai/agents";
import { ALMA } from "alma-memory";
import { almaRun, almaTools } from "alma-memory/openai-agents";
import { z } from "zod";
import { client, contract, deploy, FENCE, recordOf, reporting, scripted } from "./contract.mjs";

setTracingDisabled(true);

/** Model of the SDK that takes these turns. */
class Scripted {
  constructor(turn) {
    this.turn = turn;
  }

  async getResponse({ systemInstructions, input }) {
    const items = typeof input === "string" ? [{ role: "user", content: input }] : input;
    const asked = items.findLastIndex(({ role }) => role === "user");
    const results = items.slice(asked).filter(({ type, name }) => type === "function_call_result" && !name.startsWith("transfer")).length;
    const said = await this.turn({ text: `${systemInstructions}\n${items.map(({ content, output }) => JSON.stringify(content ?? output)).join("\n")}`, results });
    const output =
      typeof said === "string"
        ? [{ type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: said }] }]
        : [said].flat().map(({ id, way, name = "deploy", input: given = { way } }) => ({ type: "function_call", callId: id, name, arguments: JSON.stringify(given), status: "completed" }));
    return { usage: new Usage({}), output };
  }

  async *getStreamedResponse(request) {
    const { output } = await this.getResponse(request);
    yield { type: "response_started" };
    yield { type: "response_done", response: { id: "r", usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 }, output } };
  }
}

const errorFunction = (_context, error) => `${error}`;
const tools = [tool({ name: "deploy", description: "Deploys", parameters: z.object({ way: z.string() }), execute: deploy, errorFunction })];
const agentOf = (turn, more = {}) => new Agent({ name: "helena", instructions: "Be brief", model: new Scripted(turn), tools, ...more });
const runner = () => new Runner();
const reportingRun = (options) => reporting({ runner, ...options });

contract("run of @openai/agents", async ({ client, options, task, turn }) => {
  const run = almaRun(client, { runner, ...options });
  return (await run(agentOf(turn), task)).finalOutput;
});

contract("a streamed run of @openai/agents", async ({ client, options, task, turn }) => {
  const run = almaRun(client, { runner, ...options });
  const result = await run(agentOf(turn), task, { stream: true });
  for await (const _ of result);
  await result.completed;
  return result.finalOutput;
});

describe("almaRun of @openai/agents", () => {
  it("a failure that the SDK words itself is one", async () => {
    const { options, next } = reportingRun();
    const worded = tool({ name: "deploy", description: "Deploys", parameters: z.object({ way: z.string() }), execute: deploy });
    await almaRun(client, options)(agentOf(scripted(["rolling"]).turn, { tools: [worded] }), "Deploy the feed");
    assert.deepEqual((await recordOf(await next())).steps.map(({ ok }) => ok), [false]);
  });

  it("an agent that takes a hand-off learns under its own name", async () => {
    const { options, reports } = reportingRun();
    const { turn, prompts } = scripted(["blue-green"], "Paul made it live.");
    await client.addKnowledge({ agent: "paul", domain: "deploy", fact: "Deploy the shop with the key of paul" });
    const paul = agentOf(turn, { name: "paul" });
    const first = agentOf(({ results }) => (results ? "?" : { id: "h", name: "transfer_to_paul", input: {} }), { handoffs: [handoff(paul)] });
    await almaRun(client, options)(first, "Deploy the shop");
    const records = await Promise.all(reports.map((report) => recordOf(report)));
    assert.deepEqual(
      records.map(({ agent, strategy, steps }) => [agent, strategy, steps.length]).sort(),
      [["helena", null, 0], ["paul", 'deploy(way="blue-green")', 1]],
    );
    assert.equal(records[0].run_id, records[1].run_id);
    assert.match(prompts[0], /key of paul/);
  });

  it("refuses a runner whose hooks report another run", async () => {
    const shared = new Runner();
    const run = almaRun(client, { runner: () => shared });
    await run(agentOf(scripted([]).turn), "Deploy the mail");
    await assert.rejects(run(agentOf(scripted([]).turn), "Deploy the mail"), { field: "runner" });
  });

  it("a guardrail that trips ends the run as a failure with its reason", async () => {
    const { options, next } = reportingRun();
    const guard = { name: "no boasting", execute: async () => ({ tripwireTriggered: true, outputInfo: {} }) };
    const agent = agentOf(scripted([]).turn, { outputGuardrails: [guard] });
    await assert.rejects(almaRun(client, options)(agent, "Deploy the ads"), OutputGuardrailTripwireTriggered);
    const { outcome, error } = await recordOf(await next());
    assert.equal(outcome, "failure");
    assert.match(error, /guardrail/i);
  });

  it("no session stores the notes, and filters of the caller are used", async () => {
    const { options } = reportingRun({ agent: "nora" });
    await client.addKnowledge({ agent: "nora", domain: "greeting", fact: "The greeting of the house is Moin" });
    const session = new MemorySession();
    const { turn, prompts } = scripted([], "Moin");
    let filtered = 0;
    const callModelInputFilter = ({ modelData }) => {
      filtered++;
      return modelData;
    };
    const run = almaRun(client, options);
    for (const question of ["What is the greeting of the house?", "And of the house next door?"]) {
      await run(agentOf(turn), question, { session, callModelInputFilter });
    }
    assert.deepEqual([filtered, prompts.map((text) => text.match(FENCE)?.length)], [2, [1, 1]]);
    assert.equal(JSON.stringify(await session.getItems()).match(FENCE), null);
    assert.match(prompts[1], /What is the greeting of the house/);
  });

  it("a run that waits for an approval is abandoned, and its steps stay", async () => {
    const { options, next } = reportingRun();
    const careful = tool({ name: "deploy", description: "Deploys", parameters: z.object({ way: z.string() }), execute: deploy, needsApproval: async (_context, { way }) => way === "canary" });
    const result = await almaRun(client, options)(agentOf(scripted(["blue-green", "canary"]).turn, { tools: [careful] }), "Deploy the map");
    assert.equal(result.interruptions.length, 1);
    const { status, steps } = await recordOf(await next());
    assert.deepEqual([status, steps.length], ["abandoned", 1]);
    result.state.approve(result.interruptions[0]);
    assert.equal((await almaRun(client, options)(agentOf(scripted([]).turn), result.state)).finalOutput, "It is live.");
  });

  it("a reader that leaves its stream abandons the run", async () => {
    const { options, next } = reportingRun();
    const result = await almaRun(client, options)(agentOf(scripted(["blue-green"]).turn), "Deploy the radio", { stream: true });
    for await (const _ of result) break;
    await result.completed.catch(() => undefined);
    assert.equal((await recordOf(await next())).status, "abandoned");
  });

  it("gives the model tools to recall and to save", async () => {
    const asked = [
      { name: "save_fact", input: { topic: "release", fact: "The release day of the shop is Tuesday" } },
      { name: "recall_memory", input: { query: "When is the release day of the shop?" } },
    ];
    const { options, next } = reportingRun({ agent: "tess" });
    const { turn, prompts } = scripted([]);
    const ask = (given) => (given.results < asked.length ? { id: `call-${given.results}`, ...asked[given.results] } : turn(given));
    await almaRun(client, options)(agentOf(ask, { tools: almaTools(client, { agent: "tess", timeout: 30_000 }) }), "Look after the memory");
    assert.match(prompts[0], /Saved\..*release day of the shop is Tuesday/s);
    assert.equal((await recordOf(await next())).steps.length, 0);
  });

  it("tools answer a model that writes broken JSON, and do not wait long for a memory that is away", async () => {
    const [recall] = almaTools(client, { agent: "tess", timeout: 30_000 });
    for (const input of ['{"query":', "null", "[]", "query"]) assert.match(await recall.invoke(undefined, input), /^Refused: /);
    const silent = createServer().listen(0, "127.0.0.1");
    await once(silent, "listening");
    const away = new ALMA({ baseUrl: `http://127.0.0.1:${silent.address().port}`, projectId: "shop", logger: { warn() {} } });
    const asked = almaTools(away, { agent: "tess", userId: "kim", timeout: 50 });
    const given = JSON.stringify({ query: "q", action: "a", topic: "t", fact: "f", preference: "p" });
    for (const { invoke } of asked) assert.match(await invoke(undefined, given), /does not answer/);
    silent.close();
  });

  it("a call that cannot be reported does not end the run", async () => {
    const { options, next } = reportingRun({ agent: "lone" });
    const worked = tool({ name: "deploy", description: "Deploys", parameters: z.object({ way: z.string() }), execute: () => "live" });
    const raise = () => {
      throw new Error("no text");
    };
    const hostile = { ...options, redact: (text) => (text.includes("blue-green") ? { toString: raise } : text) };
    assert.equal((await almaRun(client, hostile)(agentOf(scripted(["blue-green"]).turn, { tools: [worked] }), "Deploy the map")).finalOutput, "It is live.");
    assert.equal((await recordOf(await next())).task, "Deploy the map");
  });
});
