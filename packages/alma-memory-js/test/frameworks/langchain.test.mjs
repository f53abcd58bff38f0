import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { Command, END, MemorySaver, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { almaMiddleware } from "alma-memory/langchain";
import { AIMessage, createAgent, HumanMessage, humanInTheLoopMiddleware, summarizationMiddleware, tool, toolRetryMiddleware } from "langchain";
import { z } from "zod";
import { client, contract, deploy, FENCE, recordOf, reporting, scripted } from "./contract.mjs";

/** Chat model of LangChain that takes these turns. */
class Scripted extends BaseChatModel {
  constructor(turn) {
    super({});
    this.turn = turn;
  }

  _llmType() {
    return "scripted";
  }

  bindTools() {
    return this;
  }

  async _generate(messages) {
    const asked = messages.findLastIndex(({ type }) => type === "human");
    const results = messages.slice(asked).filter(({ type }) => type === "tool").length;
    const said = await this.turn({ text: messages.map(({ text }) => text).join("\n"), results });
    const calls = typeof said === "string" ? [] : [said].flat().map(({ id, way, name = "deploy", args = { way } }) => ({ id, name, args }));
    const message = new AIMessage({ content: typeof said === "string" ? said : "", tool_calls: calls });
    return { generations: [{ text: message.text, message }] };
  }
}

const deploying = (execute) => tool(execute, { name: "deploy", description: "Deploys", schema: z.object({ way: z.string() }) });
const handled = {
  name: "handled",
  wrapToolCall: async (request, handler) => {
    try {
      return await handler(request);
    } catch (error) {
      const { ToolMessage } = await import("langchain");
      return new ToolMessage({ content: `${error}`, tool_call_id: request.toolCall.id, status: "error" });
    }
  },
};
const agentOf = ({ client, options, turn, tools = [deploying(deploy)], middleware = [handled], ...more }) =>
  createAgent({ model: new Scripted(turn), tools, systemPrompt: "Be brief.", middleware: [...middleware, almaMiddleware(client, options)], ...more });
const asked = (task) => ({ messages: [new HumanMessage(task)] });

contract("createAgent of langchain", async ({ task, ...scene }) => {
  const { messages } = await agentOf(scene).invoke(asked(task));
  assert.equal(messages[0].content, task, "the thread does not store the notes");
  return messages.at(-1).text;
});

contract("a stream of langchain", async ({ task, ...scene }) => {
  let last;
  for await (const state of await agentOf(scene).stream(asked(task), { streamMode: "values" })) last = state.messages.at(-1);
  return last.text;
});

describe("almaMiddleware of langchain", () => {
  it("names the episode in the last message, by which it is judged later", async () => {
    const { turn, prompts } = scripted(["blue-green"]);
    const { messages } = await agentOf({ client, options: reporting().options, turn }).invoke(asked("Deploy the wiki"));
    assert.deepEqual(prompts.map((text) => text.split("Be brief.").length), [2, 2]);
    const { episodeId } = messages.at(-1).response_metadata.alma;
    await client.settle({ episodeId, outcome: "failure", reason: "rolled back in the night" });
    assert.equal((await recordOf({ episodeId, agent: "helena" })).outcome, "failure");
  });

  it("a tool that raises ends the run as it ends the agent's", async () => {
    const { options, next } = reporting();
    const agent = agentOf({ client, options, turn: scripted(["rolling"]).turn, middleware: [] });
    await assert.rejects(agent.invoke(asked("Deploy the map")), /502 bad gateway/);
    const record = await recordOf(await next());
    assert.deepEqual([record.outcome, record.steps.map(({ ok }) => ok)], ["failure", [false]]);
  });

  it("a call that another middleware makes again is a step a try", async () => {
    const { options, next } = reporting();
    let tries = 0;
    const flaky = deploying(async () => {
      if (tries++ === 0) throw new Error("503 busy");
      return "live";
    });
    const middleware = [toolRetryMiddleware({ maxRetries: 2, initialDelayMs: 1, jitter: false })];
    const agent = agentOf({ client, options, turn: scripted(["blue-green"]).turn, tools: [flaky], middleware });
    await agent.invoke(asked("Deploy the feed"));
    const { steps, outcome } = await recordOf(await next());
    assert.deepEqual([outcome, steps.map(({ ok }) => ok)], ["unverified", [false, true]]);
  });

  it("arguments that do not fit are a failure, without the stack", async () => {
    const { options, next } = reporting();
    const turn = ({ results }) => (results ? "Sorry." : { id: "call-0", args: { weg: "blau" } });
    await agentOf({ client, options, turn, middleware: [] }).invoke(asked("Deploy the clock"));
    const [{ ok, error }] = (await recordOf(await next())).steps;
    assert.equal(ok, false);
    assert.match(error, /did not match expected schema/);
    assert.doesNotMatch(error, /node_modules/);
  });

  it("a run that waits for a person goes on as the same run", async () => {
    const { options, reports, next } = reporting();
    const { turn, prompts } = scripted(["blue-green"]);
    const middleware = [humanInTheLoopMiddleware({ interruptOn: { deploy: true } })];
    const agent = agentOf({ client, options, turn, middleware, checkpointer: new MemorySaver() });
    const thread = { configurable: { thread_id: "ticket-7" } };
    const waiting = await agent.invoke(asked("Deploy the search"), thread);
    assert.equal(waiting.__interrupt__.length, 1);
    assert.equal(reports.length, 0);
    const { messages } = await agent.invoke(new Command({ resume: { decisions: [{ type: "approve" }] } }), thread);
    assert.equal(messages.at(-1).text, "It is live.");
    const record = await recordOf(await next());
    assert.deepEqual([record.thread_id, record.steps.length, prompts.length], ["ticket-7", 1, 2]);
  });

  it("a run that waited for a person is abandoned when its thread goes on with another question", async () => {
    const { options, next } = reporting();
    const { turn } = scripted(["blue-green"]);
    const agent = agentOf({ client, options, turn, middleware: [humanInTheLoopMiddleware({ interruptOn: { deploy: true } })], checkpointer: new MemorySaver() });
    const thread = { configurable: { thread_id: "ticket-8" } };
    await agent.invoke(asked("Deploy the search"), thread);
    await agent.invoke(asked("Deploy the ads"), thread);
    const { task, outcome, episodeId } = await next();
    assert.deepEqual([task, outcome], ["Deploy the search", undefined]);
    const record = await recordOf({ episodeId, agent: "helena" });
    assert.deepEqual([record.status, record.outcome], ["abandoned", null]);
  });

  it("a thread is a run a question, each with its own task", async () => {
    const { options, next } = reporting();
    const agent = agentOf({ client, options, turn: scripted(["blue-green"]).turn, checkpointer: new MemorySaver() });
    const thread = { configurable: { thread_id: "chat" } };
    for (const question of ["Deploy the ads", "Deploy the radio"]) await agent.invoke(asked(question), thread);
    const runs = [await recordOf(await next()), await recordOf(await next())];
    assert.deepEqual(runs.map(({ task, steps }) => [task, steps.length]), [["Deploy the ads", 1], ["Deploy the radio", 1]]);
  });

  it("one question put by many at once is a run each", async () => {
    const { options, reports } = reporting();
    const agent = agentOf({ client, options, turn: scripted(["blue-green"]).turn });
    const question = asked("Deploy the weather");
    await Promise.all([1, 2, 3, 4].map(() => agent.invoke(question)));
    const records = await Promise.all(reports.map((report) => recordOf(report)));
    assert.deepEqual(records.map(({ steps }) => steps.length), [1, 1, 1, 1]);
    assert.equal(new Set(records.map(({ id }) => id)).size, 4);
  });

  it("an agent inside a tool is a run of its own, also with the same middleware", async () => {
    const { options, next } = reporting({ agent: ({ configurable }) => (configurable.checkpoint_ns.includes("|") ? "inner" : "outer") });
    const middleware = [almaMiddleware(client, options)];
    const inner = createAgent({ model: new Scripted(scripted(["blue-green"], "Inner is live.").turn), tools: [deploying(deploy)], middleware });
    const delegate = tool(async ({ way }) => (await inner.invoke(asked(`Deploy by ${way}`))).messages.at(-1).text, {
      name: "delegate",
      description: "Delegates",
      schema: z.object({ way: z.string() }),
    });
    const turn = ({ results }) => (results ? "All is live." : { id: "outer-1", name: "delegate", way: "canary" });
    const outer = createAgent({ model: new Scripted(turn), tools: [delegate], middleware });
    await outer.invoke(asked("Deploy the whole shop"));
    const [first, second] = [await next(), await next()];
    assert.deepEqual([first.agent, first.steps.map(({ tool }) => tool)], ["inner", ["deploy"]]);
    assert.deepEqual([second.agent, second.steps.map(({ tool }) => tool)], ["outer", ["delegate"]]);
  });

  it("agents of one graph that share a middleware are a run each", async () => {
    const { options, reports } = reporting();
    const middleware = [almaMiddleware(client, options)];
    const node = (way) => createAgent({ model: new Scripted(scripted([way], `${way} is live.`).turn), tools: [deploying(deploy)], middleware }).graph;
    const graph = new StateGraph(MessagesAnnotation).addNode("a", node("blue-green")).addNode("b", node("canary"));
    graph.addEdge(START, "a").addEdge(START, "b").addEdge("a", END).addEdge("b", END);
    await graph.compile().invoke(asked("Deploy both halves"));
    const found = await Promise.all(reports.map(async (report) => [report.answer, (await recordOf(report)).steps.map(({ action }) => action)]));
    assert.deepEqual(found.sort(), ["blue-green", "canary"].map((way) => [`${way} is live.`, [`deploy(way="${way}")`]]));
  });

  it("the notes stay with the question where another message is put behind it", async () => {
    const { options } = reporting({ agent: "nora" });
    await client.addKnowledge({ agent: "nora", domain: "greeting", fact: "The greeting of the house is Moin" });
    const prompts = [];
    const turn = ({ text }) => (prompts.push(text) === 1 ? { id: "call-0", way: "canary" } : "Moin");
    const hurry = { name: "hurry", beforeModel: ({ messages }) => (messages.at(-1).type === "tool" ? { messages: [new HumanMessage("Be quick.")] } : undefined) };
    await agentOf({ client, options, turn, middleware: [hurry] }).invoke(asked("What is the greeting of the house?"));
    assert.match(prompts[1], /greeting of the house\?\n\n<<< ALMA.*>>>\n.*Be quick\.$/s);
  });

  it("the notes stay with the question where the thread is summarised", async () => {
    const { options } = reporting({ agent: "nora" });
    await client.addKnowledge({ agent: "nora", domain: "greeting", fact: "The greeting of the house is Moin" });
    const { turn, prompts } = scripted([], "Moin");
    const middleware = [summarizationMiddleware({ model: new Scripted(() => "They greeted."), trigger: { messages: 3 }, keep: { messages: 1 } })];
    const agent = agentOf({ client, options, turn, middleware });
    const history = ["a", "b", "c"].flatMap((each) => [new HumanMessage(each), new AIMessage(each)]);
    await agent.invoke({ messages: [...history, new HumanMessage("What is the greeting of the house?")] });
    assert.deepEqual(prompts.map((text) => text.match(FENCE)?.length), [1]);
  });

  it("functions name the agent and the user by the context of the run", async () => {
    const { options, next } = reporting({ agent: ({ configurable }) => configurable.agent, userId: ({ configurable }) => configurable.user });
    const agent = agentOf({ client, options, turn: scripted([]).turn });
    await agent.invoke(asked("Deploy it"), { configurable: { agent: "zoe", user: "kim" } });
    const { agent: named, userId } = await next();
    assert.deepEqual([named, userId], ["zoe", "kim"]);
  });
});
